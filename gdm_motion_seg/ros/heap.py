# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Heaps that several threads share, so that one thread reuses what another has freed."""

import ctypes

M_ARENA_MAX = -8
"""Constant of glibc's malloc.h."""
ARENAS = 2
"""Number of heaps: one for the thread that computes, one for those that receive and send."""


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
