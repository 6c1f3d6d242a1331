# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""One heap for several threads, so that what one frees another uses again."""

import ctypes

M_ARENA_MAX = -8
"""Of glibc's malloc.h."""
ARENAS = 2
"""Heaps of a process: one for the thread that computes, one for those that receive and send."""


def share_heaps() -> bool:
    """
    Let threads share heaps; returns False where there is no glibc. Call it before threads start.

    By itself glibc gives threads heaps of their own, up to eight for each core, and keeps in each
    of them what was freed there. The middleware, OpenCV and the node have more than twenty
    threads, through which images pass.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
    except (OSError, AttributeError, TypeError):
        return False
