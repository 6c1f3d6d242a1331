# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Eigenvalues of small symmetric matrices, compiled.

The search solves hundreds of thousands of D x D problems with D about 9. There a call of LAPACK
costs several times what the arithmetic does; Householder reduction and implicit QL, written out,
take one to four microseconds.
"""

import numpy as np

from gdm_motion_seg.compilation import compiled
from gdm_motion_seg.gdm.validation import FloatArray

_MAX_QL_ITERATIONS = 60
_kernel = compiled(fastmath={'contract'})

_NEGLIGIBLE = 1e-14
"""An off-diagonal entry below this share of the matrix is zero to the eigenvalues."""


@_kernel
def eigenvalues(matrix: FloatArray, work: FloatArray, values: FloatArray, off: FloatArray) -> None:
    """
    Write the eigenvalues of a symmetric matrix into ``values``, in no particular order.

    ``work`` (D, D) and ``off`` (D,) are scratch; the matrix is not changed.
    """
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i + 1):
            work[i, j] = matrix[i, j]
    _tridiagonalize(work, values, off, False)
    _rational_ql(values, off)


@_kernel
def eigensystem(matrix: FloatArray, axes: FloatArray, values: FloatArray, off: FloatArray) -> None:
    """Write the eigenvalues into ``values`` and the eigenvectors into the rows of ``axes``."""
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i + 1):
            axes[i, j] = matrix[i, j]
    _tridiagonalize(axes, values, off, True)
    _ql(values, off, axes)


@_kernel
def _tridiagonalize(a: FloatArray, diagonal: FloatArray, off: FloatArray,
                    accumulate: bool) -> None:
    """Reduce the lower triangle of ``a`` to tridiagonal form, by rotations kept in ``a``."""
    d = a.shape[0]
    for i in range(d - 1, 0, -1):
        norm = 0.0
        for k in range(i - 1):
            norm += a[i, k] * a[i, k]
        last = a[i, i - 1]
        if norm == 0.0:
            off[i] = last
            diagonal[i] = 0.0
            continue
        norm += last * last
        g = -np.sqrt(norm) if last > 0.0 else np.sqrt(norm)
        off[i] = g
        h = norm - last * g
        a[i, i - 1] = last - g
        overlap = 0.0
        for j in range(i):
            g = 0.0
            for k in range(j + 1):
                g += a[j, k] * a[i, k]
            for k in range(j + 1, i):
                g += a[k, j] * a[i, k]
            off[j] = g / h
            overlap += off[j] * a[i, j]
        half = overlap / (h + h)
        for j in range(i):
            off[j] -= half * a[i, j]
        for j in range(i):
            f = a[i, j]
            g = off[j]
            for k in range(j + 1):
                a[j, k] -= f * off[k] + g * a[i, k]
        diagonal[i] = h
    off[0] = 0.0
    if not accumulate:
        for i in range(d):
            diagonal[i] = a[i, i]
        return
    diagonal[0] = 0.0
    for i in range(d):
        if diagonal[i] != 0.0:
            for j in range(i):
                g = 0.0
                for k in range(i):
                    g += a[i, k] * a[j, k]
                g /= diagonal[i]
                for k in range(i):
                    a[j, k] -= g * a[i, k]
        diagonal[i] = a[i, i]
        a[i, i] = 1.0
        for j in range(i):
            a[j, i] = 0.0
            a[i, j] = 0.0


@_kernel
def _ql(values: FloatArray, off: FloatArray, axes: FloatArray) -> None:
    """Diagonalize a tridiagonal matrix by implicit QL; rotate the rows of ``axes`` along."""
    d = len(values)
    for i in range(1, d):
        off[i - 1] = off[i]
    off[d - 1] = 0.0
    for low in range(d):
        for _ in range(_MAX_QL_ITERATIONS):
            end = low
            while end < d - 1:
                scale = abs(values[end]) + abs(values[end + 1])
                if abs(off[end]) <= 2.3e-16 * scale:
                    break
                end += 1
            if end == low:
                break
            g = (values[low + 1] - values[low]) / (2.0 * off[low])
            r = np.sqrt(g * g + 1.0)
            g = values[end] - values[low] + off[low] / (g + (r if g >= 0.0 else -r))
            s = 1.0
            c = 1.0
            p = 0.0
            i = end - 1
            while i >= low:
                f = s * off[i]
                b = c * off[i]
                r = np.sqrt(f * f + g * g)
                off[i + 1] = r
                if r == 0.0:
                    values[i + 1] -= p
                    off[end] = 0.0
                    break
                inverse = 1.0 / r
                s = f * inverse
                c = g * inverse
                g = values[i + 1] - p
                r = (values[i] - g) * s + 2.0 * c * b
                p = s * r
                values[i + 1] = g + p
                g = c * r - b
                for k in range(d):
                    f = axes[i + 1, k]
                    axes[i + 1, k] = s * axes[i, k] + c * f
                    axes[i, k] = c * axes[i, k] - s * f
                i -= 1
            if i < low:
                values[low] -= p
                off[low] = g
                off[end] = 0.0


@_kernel
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
        for _ in range(_MAX_QL_ITERATIONS):
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
