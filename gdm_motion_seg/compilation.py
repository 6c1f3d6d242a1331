# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
How the inner loops are compiled: once, kept beside the sources, and without Python's lock.

Both decorators are for module-level functions of numbers and arrays.
"""

from numba import njit

REORDER = {'contract', 'reassoc', 'arcp', 'nsz'}
"""Freedom for sums whose last digit does not matter; infinity and NaN keep their meaning."""

kernel = njit(cache=True, nogil=True)
"""Arithmetic in the order in which it is written; a division by zero raises."""

fast_kernel = njit(cache=True, nogil=True, error_model='numpy', fastmath=REORDER)
"""
Arithmetic that may be reordered and vectorized; a division by zero gives infinity or NaN.

A branch for each division, and the order of each sum, would keep the loops from being vectorized:
the energy's kernels take a third less time this way.
"""
