# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of glibc's allocator: which freed memory is kept, and how threads share heaps."""

import ctypes
from typing import Any

LARGE = 8 * 2**20
"""Size of a buffer, in bytes, above which its pages are returned when it is freed."""
SPARE = 32 * 2**20
"""Bytes of free memory that are kept: the buffers of a frame, for the next frame."""
ARENAS = 2
"""Number of heaps of a node: one for the thread that computes, one for those that receive and
send."""
RELEASE_S = 10.0
"""Time between two releases of free memory. A release takes 1 ms, and the next frame 3 ms more."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Constants of glibc's malloc.h."""


def _call(name: str, *arguments: Any) -> bool:
    """Call a function of glibc; returns False if there is none, or if it fails."""
    try:
        return bool(getattr(ctypes.CDLL(None), name)(*arguments))
    except (OSError, AttributeError, TypeError):
        return False


def keep_frame_buffers() -> bool:
    """
    Let glibc keep the memory of one frame and no more; returns False without glibc.

    By default it returns the buffers of every frame to the system and requests them again. The
    system clears each page again: corner detection took five times as long. By default it also
    raises its threshold to the largest buffer that was ever freed, so that one 8K image leaves 32
    MiB of unused memory in the heap of every thread that handled it.
    """
    return (_call('mallopt', M_MMAP_THRESHOLD, LARGE)
            and _call('mallopt', M_TRIM_THRESHOLD, SPARE))


def share_heaps() -> bool:
    """
    Let threads share heaps; returns False without glibc. Call it before threads start.

    By default glibc makes up to eight heaps per core, and each keeps its freed memory. The
    middleware, OpenCV and the node have more than twenty threads that handle images.
    """
    return _call('mallopt', M_ARENA_MAX, ARENAS)


def release_free_memory() -> None:
    """
    Return free pages of all heaps to the system, also those between used ones.

    Without this, every unusual frame (a large image, many tracks) and every change of settings
    leaves the heaps a little larger: the memory of a node with such faults grew for ten minutes.
    """
    _call('malloc_trim', 0)
