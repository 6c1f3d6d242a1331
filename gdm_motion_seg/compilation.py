# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
How the inner loops are compiled: once, kept beside the sources, and without Python's lock.

Both decorators are for module-level functions of numbers and arrays. A division by zero gives
infinity or NaN, as in numpy: a branch for each would keep loops from being vectorized.
"""

from numba import njit

REORDER = {'contract', 'reassoc', 'nsz'}

kernel = njit(cache=True, nogil=True, error_model='numpy')
"""
Arithmetic in the order in which it is written.

What may be reordered depends on which functions the compiler could look into, and that on what lay
in its cache. So the freedom that would save a sixth of the time would cost the promise that the
same images give the same answers.
"""

reordered_kernel = njit(cache=True, nogil=True, error_model='numpy', fastmath=REORDER)
"""Sums whose last digit does not matter, such as bounds: they may be vectorized."""

inlined = njit(inline='always', error_model='numpy')
"""
A part of the kernels that call it, put into them as text.

So what the compiler may reorder does not depend on what lies in its cache.
"""
