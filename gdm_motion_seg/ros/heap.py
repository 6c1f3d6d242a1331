# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Memory that goes back to the system when it is freed."""

import ctypes

LARGE = 4 * 2**20
"""Bytes from which a buffer gets pages of its own."""
M_MMAP_THRESHOLD = -3
"""Of glibc's malloc.h."""


def return_large_buffers() -> bool:
    """
    Let glibc give large buffers back at once; returns False where there is no glibc.

    By itself it raises its threshold to the largest buffer that was ever freed. A single image of
    8K then leaves a hole of 32 MiB in the heap of every thread that touched one.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE))
    except (OSError, AttributeError, TypeError):
        return False
