# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compilation of the inner loops with numba, with a cache on disk and without the GIL.

The decorators are for module-level functions of numbers and arrays. A division by zero gives
infinity or NaN, as in numpy: a branch for each division would prevent vectorization.

The cache on disk only saves time. If it cannot be used (no writable folder, a damaged file, a full
disk), each process compiles again, and one sentence says why.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, TypeVar
from zlib import crc32

from numba import njit, types
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher

from gdm_motion_seg.progress import progress

REORDER = {'contract', 'reassoc', 'nsz'}
AGAIN = 'so each start compiles again'
COMPILING = 'compiling, once on each machine'
_CHECKSUM = 4
"""Bytes of the checksum at the end of a cache file."""

Function = TypeVar('Function', bound=Callable[..., Any])


class _CheckedFile(IndexDataCacheFile):
    """
    Cache files with a checksum.

    A power failure may leave a file of the right length that contains zeros; executed as machine
    code, it would crash the process.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Files that numba has written without a checksum count as another version.
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
    """A cache of compiled code that is not used if it is damaged or the disk is full."""

    _is_ready = False
    """Whether numba is initialised, which it would otherwise check for every function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base,
                                        self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached code of a signature; None if there is none or it cannot be read."""
        _load_reordered()
        try:
            if _TolerantCache._is_ready:
                return self._load_overload(sig, target_context)
            found = super().load_overload(sig, target_context)
            _TolerantCache._is_ready = True
            return found
        except MemoryError:
            raise  # the cache is intact, and compiling would need even more memory
        except Exception as error:  # a damaged pickle may raise any exception
            progress.note(f'the compiled code in {self._cache_path} is damaged and is compiled '
                          f'again ({_reason(error)})')
            self._remove()
            return None

    def signatures(self, codegen: Any) -> list[Any]:
        """Return the signatures whose code is in the cache."""
        try:
            keys = self._cache_file._load_index()
        except Exception:  # it is reported when the code is needed
            return []
        return [key[0] for key in keys if key == self._index_key(key[0], codegen)]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code of a signature to the cache, if there is space."""
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
            pass  # the next read fails again and is handled again


_reordered: list[Any] = []
"""Functions whose arithmetic may be reordered, until their cached code is loaded."""


def _load_reordered() -> None:
    """
    Load the cached code of functions that may be reordered, before that of their callers.

    The code of a caller contains copies of the functions that it calls. A copy is optimized once
    more, and may be reordered in another way. The linker uses the copy that is loaded first: after
    a compilation the function itself, which is also to be used with code from the cache. So the
    same images give the same results in both cases.
    """
    while _reordered:
        dispatcher = _reordered.pop(0)
        if isinstance(dispatcher._cache, _TolerantCache):
            for signature in dispatcher._cache.signatures(dispatcher.targetctx.codegen()):
                dispatcher.compile(signature)


def _reason(error: Exception) -> str:
    strerror = getattr(error, 'strerror', None)
    return str(strerror or ' '.join(str(error).split())[:100] or type(error).__name__)


class _CompileListener(event.Listener):
    """Reports that functions are compiled."""

    def on_start(self, event: event.Event) -> None:
        """Note that the compilation of a function begins; the functions it calls are nested."""
        progress.begin(COMPILING)

    def on_end(self, event: event.Event) -> None:
        """Note that the compilation of a function ends."""
        progress.compiled += 1
        progress.end(COMPILING)


event.register('numba:compile', _CompileListener())


def _without_literals(dispatcher: Any) -> None:
    """Let a kernel that passes a constant share the code of others: it is one signature."""
    template = dispatcher.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template(tuple(map(types.unliteral, args)),
                        {name: types.unliteral(value) for name, value in kws.items()})

    dispatcher.get_call_template = get_call_template


class _Inner(CPUDispatcher):
    """A dispatcher without code for calls from Python."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse the call, which would end the process."""
        raise TypeError(f'{self.py_func.__name__} can be called by compiled functions only')


def compiled(inner: bool = False, **options: Any) -> Callable[[Function], Function]:
    """
    Return a decorator that compiles a function with numba and caches the code on disk.

    ``inner`` is for functions that only other compiled functions call. The code that converts
    arguments from Python is then left out; it takes as long to compile as a small function.
    """
    def decorate(function: Function) -> Function:
        flags: dict[str, Any] = {'nogil': True, 'no_cfunc_wrapper': True,
                                 'no_cpython_wrapper': inner, **options}
        dispatcher: Any = njit(**flags)(function)
        _without_literals(dispatcher)
        if inner:
            dispatcher.__class__ = _Inner
        try:
            dispatcher._cache = _TolerantCache(function)
        except (RuntimeError, OSError):
            progress.note('there is no writable folder for compiled code (see NUMBA_CACHE_DIR), '
                          f'{AGAIN}')
        if 'fastmath' in options:
            _reordered.append(dispatcher)
        return cast(Function, dispatcher)
    return decorate


kernel = compiled(error_model='numpy')
"""
Compiles a function; its arithmetic is done in the order of the source.

Reordering would save a sixth of the time. But what is reordered depends on which functions the
compiler can inline, and that depends on the contents of its cache. The same images would then not
always give the same results.
"""

inner_kernel = compiled(inner=True, error_model='numpy')
"""Like ``kernel``, for functions that only other kernels call."""

reordered_kernel = compiled(error_model='numpy', fastmath=REORDER)
"""Like ``kernel``, for sums whose last digit does not matter; they may be vectorized."""

inlined = njit(inline='always', error_model='numpy')
"""
Compiles a function that is always inlined into the kernels that call it.

So what the compiler reorders does not depend on the contents of its cache. A function that only
one kernel calls also compiles faster, because no code of its own is made.
"""
