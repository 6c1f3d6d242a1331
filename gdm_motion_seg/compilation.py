# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compilation of the inner loops: once, kept on disk, without Python's lock.

The decorators are for module-level functions of numbers and arrays. A division by zero gives
infinity or NaN, as in numpy: a branch for each would keep loops from being vectorized.

The cache on disk only saves time. Where it cannot be used (no writable folder, a damaged file, a
full disk), each process compiles everything again, and one sentence says why.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, TypeVar
from zlib import crc32

from numba import njit, types
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from gdm_motion_seg.progress import progress

REORDER = {'contract', 'reassoc', 'nsz'}
AGAIN = 'so each start compiles again'
_CHECKSUM = 4
"""Bytes of the checksum at the end of a file of the cache."""

Function = TypeVar('Function', bound=Callable[..., Any])


class _CheckedFile(IndexDataCacheFile):
    """
    Files of the cache with a checksum.

    A power cut may leave a file of the right length that holds zeros; loaded as machine code, it
    would end the process.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # What numba alone has written there is of another version.
        self._version = f'{self._version} with checksum'

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + crc32(data).to_bytes(_CHECKSUM, 'big')

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if crc32(data[:-_CHECKSUM]).to_bytes(_CHECKSUM, 'big') != data[-_CHECKSUM:]:
            raise ValueError(f'{name} has a wrong checksum')
        return super()._load_data(name)


class _TolerantCache(FunctionCache):
    """A cache of compiled code that may be damaged or full: then there is none."""

    _is_ready = False
    """Whether numba has prepared itself, as it would before every single function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base,
                                        self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is kept for a signature; None where nothing is, or nothing readable."""
        try:
            if _TolerantCache._is_ready:
                return self._load_overload(sig, target_context)
            found = super().load_overload(sig, target_context)
            _TolerantCache._is_ready = True
            return found
        except MemoryError:
            raise  # the cache is not to blame, and to compile takes more memory still
        except Exception as error:  # a damaged pickle raises anything
            progress.note(f'the compiled code in {self._cache_path} is damaged and is compiled '
                          f'again ({_reason(error)})')
            self._remove()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code of a signature, if there is space for it."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            progress.note(f'compiled code cannot be kept in {self._cache_path} '
                          f'({_reason(error)}), {AGAIN}')

    def _remove(self) -> None:
        """Remove the index, so that the damaged entry is not found again."""
        try:
            Path(self._cache_file._index_path).unlink(missing_ok=True)
        except OSError:
            pass  # reading it will fail again, and be tolerated again


def _reason(error: Exception) -> str:
    strerror = getattr(error, 'strerror', None)
    return str(strerror or ' '.join(str(error).split())[:100] or type(error).__name__)


class _CompileListener(event.Listener):
    """Tells what is being compiled."""

    def __init__(self) -> None:
        self._keys: list[int] = []

    def on_start(self, event: event.Event) -> None:
        """Begin a function; those that it calls are compiled within it."""
        self._keys.append(progress.begin('compiling, once on each machine'))

    def on_end(self, event: event.Event) -> None:
        """End a function."""
        progress.compiled += 1
        progress.end(self._keys.pop())


# numba compiles under one lock, so that the events of two threads do not mix.
event.register('numba:compile', _CompileListener())


def _without_literals(dispatcher: Any) -> None:
    """Let a kernel that passes a constant share the code of others: it is one signature."""
    template = dispatcher.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template(tuple(map(types.unliteral, args)),
                        {name: types.unliteral(value) for name, value in kws.items()})

    dispatcher.get_call_template = get_call_template


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function with numba and keeps the code on disk."""
    def decorate(function: Function) -> Function:
        dispatcher: Any = njit(nogil=True, **options)(function)
        _without_literals(dispatcher)
        try:
            dispatcher._cache = _TolerantCache(function)
        except (RuntimeError, OSError):
            progress.note('there is no writable folder for compiled code (see NUMBA_CACHE_DIR), '
                          f'{AGAIN}')
        return cast(Function, dispatcher)
    return decorate


kernel = compiled(error_model='numpy')
"""
Arithmetic in the order in which it is written.

What may be reordered depends on which functions the compiler could look into, and that on what lay
in its cache. So the freedom that would save a sixth of the time would cost the promise that the
same images give the same answers.
"""

reordered_kernel = compiled(error_model='numpy', fastmath=REORDER)
"""Sums whose last digit does not matter, such as bounds: they may be vectorized."""

inlined = njit(inline='always', error_model='numpy')
"""
A part of the kernels that call it, put into them as text.

So what the compiler may reorder does not depend on what lies in its cache.
"""
