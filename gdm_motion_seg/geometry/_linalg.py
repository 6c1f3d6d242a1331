# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Linear algebra of tiny matrices inside compiled kernels.

LAPACK spends most of its time on the call when the matrix is 3 x 3 to 9 x 9; these loops do not,
and plain loops over numbers compile in a fraction of the time that array expressions take.
"""

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray

_SWEEPS = 30


@kernel
def eigh(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix, by Jacobi."""
    n = matrix.shape[0]
    a = matrix.copy()
    v = np.eye(n)
    for _ in range(_SWEEPS):
        off = 0.0
        diagonal = 0.0
        for i in range(n):
            diagonal += a[i, i] * a[i, i]
            for j in range(i):
                off += a[i, j] * a[i, j]
        if off <= 1e-32 * diagonal or off == 0.0:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] == 0.0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                for k in range(n):
                    akp = a[k, p]
                    akq = a[k, q]
                    a[k, p] = c * akp - s * akq
                    a[k, q] = s * akp + c * akq
                for k in range(n):
                    apk = a[p, k]
                    aqk = a[q, k]
                    a[p, k] = c * apk - s * aqk
                    a[q, k] = s * apk + c * aqk
                for k in range(n):
                    vkp = v[k, p]
                    vkq = v[k, q]
                    v[k, p] = c * vkp - s * vkq
                    v[k, q] = s * vkp + c * vkq
    values = np.empty(n)
    for i in range(n):
        values[i] = a[i, i]
    for i in range(n - 1):
        low = i
        for j in range(i + 1, n):
            if values[j] < values[low]:
                low = j
        values[i], values[low] = values[low], values[i]
        for k in range(n):
            v[k, i], v[k, low] = v[k, low], v[k, i]
    return values, v


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
def lowest_eigenvector(matrix: FloatArray, iterations: int) -> FloatArray:
    """
    Eigenvector of the smallest eigenvalue of a positive semi-definite matrix.

    Inverse iteration on a slightly lifted diagonal: a fifteenth of the cost of all eigenvectors,
    and exact at once where the smallest eigenvalue is zero (a minimal sample).
    """
    n = matrix.shape[0]
    trace = 0.0
    for i in range(n):
        trace += matrix[i, i]
    lift = 1e-13 * trace + 1e-300
    factor = np.empty((n, n))
    for _ in range(20):
        for i in range(n):
            for j in range(n):
                factor[i, j] = matrix[i, j]
            factor[i, i] += lift
        if cholesky_inplace(factor):
            break
        lift *= 10.0
    # No axis of the basis may be orthogonal to the start: unequal entries, all different from 0.
    x = np.empty(n)
    for i in range(n):
        x[i] = 1.0 + 0.1 * i
    for _ in range(iterations):
        cholesky_solve_inplace(factor, x)
        norm = 0.0
        for i in range(n):
            norm += x[i] * x[i]
        norm = np.sqrt(norm)
        if not (norm > 0.0 and norm < np.inf):
            for i in range(n):
                x[i] = 0.0
            x[n - 1] = 1.0
            return x
        for i in range(n):
            x[i] /= norm
    return x


@kernel
def svd3(m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Rotations U, V and singular values s (descending, the last signed) with m = U diag(s) V^T.

    Through the eigenvectors of m^T m: exact enough where the two largest values matter.
    """
    scale = 0.0
    for i in range(3):
        for j in range(3):
            scale = max(scale, abs(m[i, j]))
    u = np.eye(3)
    v = np.eye(3)
    s = np.zeros(3)
    if scale == 0.0:
        return u, s, v
    a = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            a[i, j] = m[i, j] / scale
    gram = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                gram[i, j] += a[k, i] * a[k, j]
    _, vectors = eigh(gram)
    for i in range(3):
        v[i, 0] = vectors[i, 2]
        v[i, 1] = vectors[i, 1]
    _cross_columns(v)
    av = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                av[i, j] += a[i, k] * v[k, j]
    s[0] = np.sqrt(av[0, 0] ** 2 + av[1, 0] ** 2 + av[2, 0] ** 2)
    for i in range(3):
        u[i, 0] = av[i, 0] / s[0]
    along = av[0, 1] * u[0, 0] + av[1, 1] * u[1, 0] + av[2, 1] * u[2, 0]
    for i in range(3):
        u[i, 1] = av[i, 1] - along * u[i, 0]
    s[1] = np.sqrt(u[0, 1] ** 2 + u[1, 1] ** 2 + u[2, 1] ** 2)
    if s[1] > 1e-14 * s[0]:
        for i in range(3):
            u[i, 1] /= s[1]
    else:
        # Rank one: any direction orthogonal to the first will do.
        least = 0
        for i in range(1, 3):
            if abs(u[i, 0]) < abs(u[least, 0]):
                least = i
        for i in range(3):
            u[i, 1] = -u[least, 0] * u[i, 0]
        u[least, 1] += 1.0
        norm = np.sqrt(u[0, 1] ** 2 + u[1, 1] ** 2 + u[2, 1] ** 2)
        for i in range(3):
            u[i, 1] /= norm
    _cross_columns(u)
    s[2] = av[0, 2] * u[0, 2] + av[1, 2] * u[1, 2] + av[2, 2] * u[2, 2]
    for i in range(3):
        s[i] *= scale
    return u, s, v


@kernel
def _cross_columns(m: FloatArray) -> None:
    """Make the third column the cross product of the first two."""
    m[0, 2] = m[1, 0] * m[2, 1] - m[2, 0] * m[1, 1]
    m[1, 2] = m[2, 0] * m[0, 1] - m[0, 0] * m[2, 1]
    m[2, 2] = m[0, 0] * m[1, 1] - m[1, 0] * m[0, 1]


@kernel
def rotation_exp(w: FloatArray) -> FloatArray:
    """Rotation matrix of a rotation vector (Rodrigues)."""
    theta2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    theta = np.sqrt(theta2)
    if theta < 1e-8:
        a, b = 1.0, 0.5
    else:
        a, b = np.sin(theta) / theta, (1.0 - np.cos(theta)) / theta2
    r = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            r[i, j] = b * w[i] * w[j]
        r[i, i] += 1.0 - b * theta2
    r[0, 1] -= a * w[2]
    r[1, 0] += a * w[2]
    r[0, 2] += a * w[1]
    r[2, 0] -= a * w[1]
    r[1, 2] -= a * w[0]
    r[2, 1] += a * w[0]
    return r


@kernel
def matmul3(a: FloatArray, b: FloatArray) -> FloatArray:
    """Product of two 3 x 3 matrices without a call into BLAS."""
    c = np.zeros((3, 3))
    for i in range(3):
        for k in range(3):
            for j in range(3):
                c[i, j] += a[i, k] * b[k, j]
    return c


@kernel
def inverse_camera(k: FloatArray) -> FloatArray:
    """Inverse of an upper triangular camera matrix."""
    inverse = np.zeros((3, 3))
    inverse[0, 0] = 1.0 / k[0, 0]
    inverse[1, 1] = 1.0 / k[1, 1]
    inverse[2, 2] = 1.0
    inverse[0, 1] = -k[0, 1] / (k[0, 0] * k[1, 1])
    inverse[0, 2] = (k[0, 1] * k[1, 2] - k[0, 2] * k[1, 1]) / (k[0, 0] * k[1, 1])
    inverse[1, 2] = -k[1, 2] / k[1, 1]
    return inverse


@kernel
def cross_matrix(t: FloatArray) -> FloatArray:
    """Matrix [t]x of the cross product with t."""
    m = np.zeros((3, 3))
    m[0, 1], m[0, 2] = -t[2], t[1]
    m[1, 0], m[1, 2] = t[2], -t[0]
    m[2, 0], m[2, 1] = -t[1], t[0]
    return m


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
        return a[middle]
    below = a[0]
    for i in range(1, middle):
        below = max(below, a[i])
    return 0.5 * (below + a[middle])
