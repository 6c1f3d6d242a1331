# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared memory of DDS that killed processes leave."""

from collections.abc import Iterable
from contextlib import suppress
import fcntl
from pathlib import Path
import re

from gdm_motion_seg.ros.diagnostics import SHARED_MEMORY


def segments_of(pid: int) -> set[Path]:
    """Return the segments of Fast DDS that a process uses, its own and those of others."""
    try:
        maps = Path(f'/proc/{pid}/maps').read_text(encoding='utf-8', errors='replace')
    except OSError:
        return set()
    return set(map(Path, re.findall(rf'{SHARED_MEMORY}/fastrtps_[0-9a-f]{{16}}\b', maps)))


def remove_abandoned(segments: Iterable[Path]) -> list[Path]:
    """
    Remove segments whose owner is gone, as ``fastdds shm clean`` does; returns those.

    A process that is killed leaves its segment, whose size its profile says. As long as the owner
    lives, it holds a lock on a file beside the segment. Ports stay: they are small, and the next
    participant with the same number uses them again.
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
        return False  # somebody holds it, or it is not ours to remove
    return True
