# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Memory of the node: threads share heaps, and what is free goes back to the system."""

import ctypes

M_ARENA_MAX = -8
"""Constant of glibc's malloc.h."""
ARENAS = 2
"""Number of heaps: one for the thread that computes, one for those that receive and send."""
RELEASE_S = 10.0
"""Time between two releases of free memory. A release takes 1 ms, and the next frame 3 ms more."""


def share_heaps() -> bool:
    """
    Let threads share heaps; returns False without glibc. Call it before threads start.

    By default glibc makes up to eight heaps per core, and each keeps its freed memory. The
    middleware, OpenCV and the node have more than twenty threads that handle images.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
    except (OSError, AttributeError, TypeError):
        return False


def release_free_memory() -> None:
    """
    Return free pages of all heaps to the system, also those between used ones.

    Without this, every unusual frame (a large image, many tracks) and every change of settings
    leaves the heaps a little larger: the memory of a node with such faults grew for ten minutes.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass  # another C library
