# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Outputs that are whole or not there.

Everything is written under a temporary name beside its place and renamed when it is finished, so
that an interruption or a full disk leaves what was there before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import tempfile

from gdm_motion_seg.errors import InputError

MARK = '.gdm_motion_seg'
"""A file in every folder that this package wrote: only such folders are overwritten."""


@contextmanager
def output_folder(path: Path, overwrite: bool = False, make: bool = True) -> Iterator[Path]:
    """
    Yield an empty folder that becomes ``path`` if the block succeeds, and else vanishes.

    Without ``make``, the block has to make the folder itself, as writers of bags insist on doing.
    """
    path = Path(os.path.abspath(path))
    _check_folder(path, overwrite)
    with _scratch_beside(path) as scratch:
        # The last name is the final one already: writers of bags name their files after it.
        folder = scratch / path.name
        if make:
            folder.mkdir()
        yield folder
        (folder / MARK).touch()
        if path.exists():
            path.rename(scratch / 'replaced')
        folder.rename(path)


@contextmanager
def output_file(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield the name of a file that becomes ``path`` if the block succeeds, and else vanishes."""
    path = Path(os.path.abspath(path))
    if path.is_dir():
        raise InputError(f'{path} is a folder')
    if path.exists() and not overwrite:
        raise InputError(f'{path} exists already; use --overwrite to replace it')
    with _scratch_beside(path) as scratch:
        file = scratch / path.name
        yield file
        file.replace(path)


def _check_folder(path: Path, overwrite: bool) -> None:
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f'{path} exists already and is no folder')
    if not any(path.iterdir()):
        return
    if not overwrite:
        raise InputError(f'{path} exists already; use --overwrite to replace it')
    if not (path / MARK).is_file():
        raise InputError(f'{path} was not written by gdm-motion-seg and is not overwritten')


@contextmanager
def _scratch_beside(path: Path) -> Iterator[Path]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f'.{path.name}.', dir=path.parent))
    except OSError as error:
        raise InputError(f'{path} cannot be written: {error.strerror}') from None
    # mkdtemp closes its folder to others; what becomes of it should follow the user's umask.
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
