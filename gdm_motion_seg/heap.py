# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which freed memory goes back to the system, and which is kept for the next frame."""

import ctypes

LARGE = 8 * 2**20
"""Bytes from which a buffer gets pages of its own, which go back when it is freed."""
SPARE = 32 * 2**20
"""Bytes of free memory that are kept: the buffers of a frame, which the next one needs again."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's malloc.h."""


def keep_frame_buffers() -> bool:
    """
    Let glibc keep the memory of one frame and no more; returns False where there is no glibc.

    By default it gives the buffers of every frame back and asks for them again. The system then
    clears each page anew: corner detection took five times as long. It also raises its threshold
    to the largest buffer that was ever freed, so that a single image of 8K leaves a hole of 32 MiB
    in the heap of every thread that touched one.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(M_MMAP_THRESHOLD, LARGE) and mallopt(M_TRIM_THRESHOLD, SPARE))
    except (OSError, AttributeError, TypeError):
        return False
