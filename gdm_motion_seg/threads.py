# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Threads chosen, not left to chance, so that libraries do not fight over a robot's cores."""

import os

import cv2

_VARIABLES = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')


def limit_threads(count: int) -> None:
    """
    Let OpenCV and BLAS use at most so many threads each; 0 leaves them as they are.

    The package's own compiled code runs on the thread that calls it. The limit holds for the whole
    process. BLAS can be told at run time where threadpoolctl is installed; elsewhere it reads the
    environment when it is loaded, so that only processes started from this one obey.
    """
    if count <= 0:
        return
    cv2.setNumThreads(count)
    for name in _VARIABLES:
        os.environ.setdefault(name, str(count))
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return
    threadpool_limits(limits=count, user_api='blas')
