# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Small linear systems and medians inside compiled kernels.

By hand, because a call of LAPACK or numpy costs more than the arithmetic of a 5 x 5 matrix, and
plain loops compile in a fraction of the time that array expressions take.
"""

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.compilation import kernel


@kernel
def cholesky_inplace(a: FloatArray) -> bool:
    """Replace the lower triangle by its Cholesky factor; False if it is not positive definite."""
    n = a.shape[0]
    for j in range(n):
        d = a[j, j]
        for k in range(j):
            d -= a[j, k] * a[j, k]
        if not d > 0.0:
            return False
        root = np.sqrt(d)
        a[j, j] = root
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / root
    return True


@kernel
def cholesky_solve_inplace(factor: FloatArray, b: FloatArray) -> None:
    """Solve L L^T x = b with the factor of :func:`cholesky_inplace`; x replaces b."""
    n = b.shape[0]
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= factor[i, k] * b[k]
        b[i] = s / factor[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= factor[k, i] * b[k]
        b[i] = s / factor[i, i]


@kernel
def median(values: FloatArray) -> float:
    """Median of some numbers, by quickselect; 0 of none."""
    n = values.shape[0]
    if n == 0:
        return 0.0
    a = values.copy()
    middle = n // 2
    low, high = 0, n - 1
    while low < high:
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    if n % 2 == 1:
        return float(a[middle])
    below = a[0]
    for i in range(1, middle):
        below = max(below, a[i])
    return float(0.5 * (below + a[middle]))
