# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of glibc's allocator: which freed memory is kept for the next frame."""

import ctypes

LARGE = 8 * 2**20
"""Size of a buffer, in bytes, above which its pages are returned when it is freed."""
SPARE = 32 * 2**20
"""Bytes of free memory that are kept: the buffers of a frame, for the next frame."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Constants of glibc's malloc.h."""


def keep_frame_buffers() -> bool:
    """
    Let glibc keep the memory of one frame and no more; returns False without glibc.

    By default it returns the buffers of every frame to the system and requests them again. The
    system clears each page again: corner detection took five times as long. By default it also
    raises its threshold to the largest buffer that was ever freed, so that one 8K image leaves 32
    MiB of unused memory in the heap of every thread that handled it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(M_MMAP_THRESHOLD, LARGE) and mallopt(M_TRIM_THRESHOLD, SPARE))
    except (OSError, AttributeError, TypeError):
        return False
