# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Reads and writes files by path or address, through fsspec.

Every file is complete or absent: it is written under a temporary name and renamed (local), or
uploaded when it is finished (object stores).
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import tempfile
from types import TracebackType
from typing import Any
import uuid

import fsspec
from fsspec.implementations.local import LocalFileSystem

from gdm_motion_seg.errors import InputError, MissingDependencyError
from gdm_motion_seg.io.output import MARK

TEMPORARY = '.tmp-'
"""Part of the name of an unfinished file."""
LOCK = '.lock'


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a path or address, and the path in it."""
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingDependencyError(f'{url} cannot be reached: {error}') from None
    except ValueError as error:
        raise InputError(f'{url} cannot be reached: {error}') from None
    return fs, str(path).rstrip('/') or '/'


def is_local(fs: Any) -> bool:
    """Whether files of a file system have a path on this machine."""
    return isinstance(fs, LocalFileSystem)


class Store:
    """A folder, local or remote, whose files are complete or absent."""

    def __init__(self, url: str) -> None:
        """Set the folder; nothing is read or written yet."""
        self.fs, self.root = file_system(url)
        self.url = url
        self.is_local = is_local(self.fs)

    def path(self, name: str) -> str:
        """Return the path of a file in the file system."""
        return f'{self.root}/{name}'

    def exists(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""
        return bool(self.fs.exists(self.path(name)))

    def read(self, name: str) -> bytes:
        """Read a file."""
        return bytes(self.fs.cat_file(self.path(name)))

    def names(self, folder: str) -> list[str]:
        """Return the finished files of a folder; empty if there are none."""
        try:
            found = self.fs.ls(self.path(folder), detail=False, refresh=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        names = sorted(str(path).rstrip('/').rpartition('/')[2] for path in found)
        return [name for name in names if TEMPORARY not in name]

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it exists."""
        with suppress(FileNotFoundError):
            self.fs.rm(self.path(name), recursive=True)

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        with self.writing(name) as file:
            file.write_bytes(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a temporary local path; its file gets the name if the block succeeds."""
        target = self.path(name)
        if not self.is_local:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / Path(name).name
                yield file
                self.fs.put_file(str(file), target)
            return
        place = Path(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        file = place.with_name(f'.{place.name}{TEMPORARY}{uuid.uuid4().hex[:8]}')
        try:
            yield file
            with file.open('rb+') as finished:
                os.fsync(finished.fileno())
            file.replace(place)
        finally:
            file.unlink(missing_ok=True)


class OutputStore(Store):
    """The output folder of a batch, locked for one command; use it in a ``with`` block."""

    def __init__(self, url: str) -> None:
        """Set the folder."""
        super().__init__(url)
        self._lock: Any = None

    def __enter__(self) -> 'OutputStore':
        """Create or reuse the folder; raises InputError if it contains other files."""
        try:
            self._claim()
        except OSError as error:
            raise InputError(f'{self.url} cannot be written: {error.strerror or error}') from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.close()

    def _claim(self) -> None:
        if self.fs.exists(self.root) and not self.fs.isdir(self.root):
            raise InputError(f'{self.url} exists already and is not a folder')
        if self.names('.' if self.is_local else '') and not self.exists(f'recordings/{MARK}'):
            raise InputError(f'{self.url} contains files that "batch" did not write; '
                             'choose another folder')
        if self.is_local:
            Path(self.root).mkdir(parents=True, exist_ok=True)
            self._take_lock()
            for left_over in Path(self.root).rglob(f'.*{TEMPORARY}*'):
                left_over.unlink(missing_ok=True)
        self.write(f'recordings/{MARK}', b'')

    def _take_lock(self) -> None:
        """Lock the folder; the system releases the lock when the process ends."""
        import fcntl  # not available on Windows, which is not supported
        self._lock = open(self.path(LOCK), 'wb')
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise InputError(f'another "batch" is writing to {self.url}') from None
