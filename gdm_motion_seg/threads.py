# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits the threads of libraries, so that they do not compete for the cores of a robot."""

import os

import cv2

_VARIABLES = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')


def limit_threads(count: int) -> None:
    """
    Let OpenCV and BLAS use at most this many threads each; 0 changes nothing.

    The package's own compiled code runs on the thread that calls it. The limit holds for the whole
    process. BLAS can be limited at run time if threadpoolctl is installed; otherwise it reads the
    environment when it is loaded, so that the limit holds for child processes only.
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
