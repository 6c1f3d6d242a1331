# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Output files and folders that are complete or absent.

An output is reserved at the start of a run, so that no other run can use it. It is written under a
temporary name and renamed when it is finished: after an interruption or on a full disk the earlier
files remain. Only files that this package has written are ever replaced or removed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import json
import os
from pathlib import Path
import shutil
import stat
import tempfile

from gdm_motion_seg.errors import InputError

MARK = '.gdm_motion_seg'
"""File in every output folder, with the names of the written files; it is also the lock."""
UNFINISHED = '.unfinished'
"""Temporary subfolder for files that are not finished."""


@contextmanager
def output_folder(path: Path, overwrite: bool = False, make: bool = True) -> Iterator[Path]:
    """
    Yield an empty folder whose files become those of ``path`` if the block succeeds.

    Parameters
    ----------
    path
        The folder. It is created, or must be empty, or must be an earlier output with
        ``overwrite``.
    overwrite
        Whether files of an earlier run are replaced; other files are always kept.
    make
        False if the block creates the folder itself, as writers of bags require.

    """
    path = Path(os.path.abspath(path))
    with _sentence(path):
        claim = _Claim(path, overwrite)
    try:
        # The last part of the path is the final name: writers of bags name their files after it.
        folder = path / UNFINISHED / path.name
        with _sentence(path):
            (folder if make else folder.parent).mkdir(parents=True)
        yield folder
        claim.finish(folder)
    finally:
        claim.release()


class _Claim:
    """A folder that is reserved for one run until it is finished or fails."""

    def __init__(self, path: Path, overwrite: bool) -> None:
        """Reserve the folder; raises InputError if that is not possible."""
        self._path = path
        self._finished = False
        if path.exists() and not path.is_dir():
            raise InputError(f'{path} exists already and is not a folder')
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.mkdir()
            self._is_new = True
        except FileExistsError:
            self._is_new = False
            _check_folder(path, overwrite)
        self._had_mark = (path / MARK).exists()
        self._lock = os.open(path / MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take(overwrite)
        except BaseException:
            os.close(self._lock)
            raise

    def _take(self, overwrite: bool) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f'{self._path} is being written by another run') from None
        except OSError:
            pass  # the file system has no locks
        if not os.path.samestat(os.fstat(self._lock), os.stat(self._path / MARK)):
            raise InputError(f'{self._path} is being written by another run')
        # Another run may have finished since the first check.
        if not self._is_new:
            _check_folder(self._path, overwrite)
        self._old = _files_of(self._path)
        # Remove the remains of a killed run.
        shutil.rmtree(self._path / UNFINISHED, ignore_errors=True)

    def finish(self, folder: Path) -> None:
        """Move the files to their final places, and remove those of the earlier run."""
        new = sorted(str(f.relative_to(folder)) for f in folder.rglob('*') if not f.is_dir())
        for name in new:
            if name not in self._old and os.path.lexists(self._path / name):
                raise InputError(f'{self._path / name} was created by another program, so the '
                                 'output is not written')
        self._write_mark(sorted({*self._old, *new}))
        self._finished = True
        for name in new:
            (self._path / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).replace(self._path / name)
        for name in set(self._old) - set(new):
            _remove(self._path, name)
        self._write_mark(new)

    def _write_mark(self, names: list[str]) -> None:
        data = json.dumps({'files': names}, indent=1).encode()
        os.pwrite(self._lock, data, 0)
        os.ftruncate(self._lock, len(data))

    def release(self) -> None:
        """Release the folder and remove unfinished files."""
        shutil.rmtree(self._path / UNFINISHED, ignore_errors=True)
        if not self._finished and not self._had_mark:
            (self._path / MARK).unlink(missing_ok=True)
        if not self._finished and self._is_new:
            try:
                self._path.rmdir()
            except OSError:
                pass  # it contains other files
        os.close(self._lock)


def _check_folder(path: Path, overwrite: bool) -> None:
    """Raise InputError if an existing folder must not be written to."""
    names = {p.name for p in path.iterdir()} - {UNFINISHED, 'lost+found'}
    if not names - {MARK}:
        return
    if not overwrite:
        raise InputError(f'{path} exists already; use --overwrite to replace it')
    if MARK not in names:
        raise InputError(f'{path} was not written by gdm-motion-seg and is not overwritten')
    if not _files_of(path):
        raise InputError(f'{path} does not list which of its files gdm-motion-seg wrote, and is '
                         'not overwritten; remove it first')


def _files_of(path: Path) -> list[str]:
    """Return the files that an earlier run wrote inside the folder."""
    try:
        names = json.loads((path / MARK).read_text(encoding='utf-8'))['files']
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in names if isinstance(name, str)
            and not Path(name).is_absolute() and '..' not in Path(name).parts]


def _remove(path: Path, name: str) -> None:
    """Remove a file of an earlier run, and folders that become empty."""
    file = path / name
    try:
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == path:
                break
            folder.rmdir()
    except OSError:
        pass  # it is not empty


@contextmanager
def output_file(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary path; it is renamed to ``path`` if the block succeeds, else removed."""
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise InputError(f'{path} is a folder')
    with _sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        claimed = _claim_file(path, overwrite)
    try:
        with _sentence(path):
            scratch = Path(tempfile.mkdtemp(prefix=f'.{path.name[:100]}.', dir=path.parent))
        try:
            file = scratch / path.name
            yield file
            if claimed and not _is_same(path, claimed):
                raise InputError(f'{path} was replaced by another program, so it is not written')
            file.replace(path)
            claimed = None
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    finally:
        if claimed and _is_same(path, claimed):
            path.unlink(missing_ok=True)


def _claim_file(path: Path, overwrite: bool) -> os.stat_result | None:
    """Create an empty file if there is none; None if an existing file may be replaced."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        if not overwrite:
            raise InputError(f'{path} exists already; use --overwrite to replace it') from None
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f'{path} is not a regular file and is not replaced') from None
        return None
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _is_same(path: Path, claimed: os.stat_result) -> bool:
    try:
        now = path.lstat()
    except OSError:
        return False
    return (now.st_dev, now.st_ino, now.st_size) == (claimed.st_dev, claimed.st_ino, 0)


@contextmanager
def _sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f'{path} cannot be written: {error.strerror}') from None
