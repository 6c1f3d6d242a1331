# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Eigenvalues without eigenvectors, in half of the time, for the search of the paper."""

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.gdm.eigen import eigen_kernel, MAX_QL_ITERATIONS, tridiagonalize

_NEGLIGIBLE = 1e-14
"""An off-diagonal entry below this share of the matrix norm does not change the eigenvalues."""


@eigen_kernel
def eigenvalues(matrix: FloatArray, work: FloatArray, values: FloatArray, off: FloatArray) -> None:
    """
    Write the eigenvalues of a symmetric matrix into ``values``, in no particular order.

    ``work`` (D, D) and ``off`` (D,) are scratch; the matrix is not changed.
    """
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i + 1):
            work[i, j] = matrix[i, j]
    tridiagonalize(work, values, off, False)
    _rational_ql(values, off)


@eigen_kernel
def _rational_ql(values: FloatArray, off: FloatArray) -> None:
    """
    Find the eigenvalues of a tridiagonal matrix by QL without square roots in the inner loop.

    The rational variant of Reinsch (1973): it works on the squares of the off-diagonal entries.
    """
    d = len(values)
    for i in range(1, d):
        off[i - 1] = off[i] * off[i]
    off[d - 1] = 0.0
    shifted = 0.0
    scale = 0.0
    tiny = 0.0
    for low in range(d):
        reach = abs(values[low]) + np.sqrt(off[low])
        if scale < reach:
            scale = reach
            tiny = _NEGLIGIBLE * scale
        negligible = tiny * tiny
        for _ in range(MAX_QL_ITERATIONS):
            end = low
            while off[end] > negligible:
                end += 1
            if end == low:
                break
            root = np.sqrt(off[low])
            g = values[low]
            p = (values[low + 1] - g) / (2.0 * root)
            r = np.sqrt(p * p + 1.0)
            values[low] = root / (p + (r if p >= 0.0 else -r))
            shift = g - values[low]
            for i in range(low + 1, d):
                values[i] -= shift
            shifted += shift
            g = values[end]
            if g == 0.0:
                g = tiny
            h = g
            s = 0.0
            for i in range(end - 1, low - 1, -1):
                p = g * h
                r = p + off[i]
                inverse = 1.0 / r
                off[i + 1] = s * r
                s = off[i] * inverse
                values[i + 1] = h + s * (h + values[i])
                g = values[i] - off[i] / g
                if g == 0.0:
                    g = tiny
                h = g * p * inverse
            off[low] = s * g
            values[low] = h
            # off holds s * g instead of s * g * h, which could underflow.
            if h == 0.0 or abs(off[low]) <= abs(negligible / h):
                break
            off[low] *= h
        off[low] = 0.0
        values[low] += shifted
