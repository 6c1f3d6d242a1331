# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared memory of DDS: free space for images, and segments that killed processes leave."""

from collections.abc import Iterable
from contextlib import suppress
import fcntl
import os
from pathlib import Path
import re

FOLDER = '/dev/shm'
ENOUGH = 16 * 2**20
"""Bytes: a few images. The default of Docker is 64 MiB."""


def shared_memory_problem(folder: str = FOLDER) -> str:
    """Return a warning if shared memory is too small for images; empty if it is large enough."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return ''  # a system without this folder
    free = space.f_bavail * space.f_frsize
    if free >= ENOUGH:
        return ''
    return (f'{folder} has only {free / 2**20:.1f} MiB free: images from this machine may get '
            'lost (docker run --shm-size=256m gives more)')


def segments_of(pid: int) -> set[Path]:
    """Return the segments of Fast DDS that a process uses, its own and those of others."""
    try:
        maps = Path(f'/proc/{pid}/maps').read_text(encoding='utf-8', errors='replace')
    except OSError:
        return set()
    return set(map(Path, re.findall(rf'{FOLDER}/fastrtps_[0-9a-f]{{16}}\b', maps)))


def remove_abandoned(segments: Iterable[Path]) -> list[Path]:
    """
    Remove segments whose owner has ended, as ``fastdds shm clean`` does; returns them.

    A process that is killed leaves its segment behind. While the owner runs, it holds a lock on a
    file beside the segment. Files of ports are kept: they are small, and the next participant with
    the same number uses them.
    """
    return [segment for segment in segments if _remove_if_abandoned(segment)]


def _remove_if_abandoned(segment: Path) -> bool:
    lock = segment.with_name(f'{segment.name}_el')
    try:
        with lock.open('rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in (segment, lock):
                with suppress(FileNotFoundError):
                    path.unlink()
    except OSError:
        return False  # the owner runs, or it belongs to another user
    return True
