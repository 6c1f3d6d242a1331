# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled kernels of epipolar geometry: linear fits, Sampson distances, Levenberg-Marquardt."""

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._linalg import (
    cholesky_inplace, cholesky_solve_inplace, eigh, lowest_eigenvector, matmul3, rotation_exp,
    svd3)
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.normalization import centre_and_scale

MAX_DAMPING = 1e12


@kernel
def unit_frobenius(f: FloatArray) -> FloatArray:
    """F at unit Frobenius norm, scaled first so that squares neither overflow nor vanish."""
    largest = 0.0
    for i in range(3):
        for j in range(3):
            largest = max(largest, abs(f[i, j]))
    g = f.copy()
    if not (largest > 0.0 and largest < np.inf):
        return g
    norm = 0.0
    for i in range(3):
        for j in range(3):
            g[i, j] /= largest
            norm += g[i, j] * g[i, j]
    norm = np.sqrt(norm)
    for i in range(3):
        for j in range(3):
            g[i, j] /= norm
    return g


@kernel
def rank_two(f: FloatArray) -> FloatArray:
    """Nearest matrix of rank two in the Frobenius norm."""
    u, s, v = svd3(f)
    g = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            g[i, j] = u[i, 0] * s[0] * v[j, 0] + u[i, 1] * s[1] * v[j, 1]
    return g


@kernel
def times_transform(m: FloatArray, cx: float, cy: float, scale: float) -> FloatArray:
    """M T for the transform T of a centre and a scale."""
    out = np.empty((3, 3))
    for i in range(3):
        out[i, 0] = m[i, 0] * scale
        out[i, 1] = m[i, 1] * scale
        out[i, 2] = m[i, 2] - cx * out[i, 0] - cy * out[i, 1]
    return out


@kernel
def to_pixels(f: FloatArray, c1x: float, c1y: float, s1: float,
              c2x: float, c2y: float, s2: float) -> FloatArray:
    """T2^T F T1 at unit norm, for transforms given by centre and scale."""
    g = times_transform(f, c1x, c1y, s1)
    for j in range(3):
        g[0, j] *= s2
        g[1, j] *= s2
        g[2, j] -= c2x * g[0, j] + c2y * g[1, j]
    return unit_frobenius(g)


@kernel
def from_pixels(f: FloatArray, c1x: float, c1y: float, s1: float,
                c2x: float, c2y: float, s2: float) -> FloatArray:
    """T2^-T F T1^-1 at unit norm, for transforms given by centre and scale."""
    return to_pixels(f, -c1x * s1, -c1y * s1, 1.0 / s1, -c2x * s2, -c2y * s2, 1.0 / s2)


@kernel
def as_matrix(v: FloatArray) -> FloatArray:
    """(3, 3) matrix of nine numbers, row by row."""
    m = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            m[i, j] = v[3 * i + j]
    return m


@kernel
def _store(m: FloatArray, out: FloatArray, index: int) -> None:
    for i in range(3):
        for j in range(3):
            out[index, i, j] = m[i, j]


@kernel
def _fill_embedding(v: FloatArray, x: float, y: float, u: float, w: float) -> None:
    v[0] = u * x
    v[1] = u * y
    v[2] = u
    v[3] = w * x
    v[4] = w * y
    v[5] = w
    v[6] = x
    v[7] = y
    v[8] = 1.0


@kernel
def eight_point(x1: FloatArray, x2: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted normalised eight-point algorithm, rank two, in pixels."""
    c1x, c1y, s1 = centre_and_scale(x1, weights)
    c2x, c2y, s2 = centre_and_scale(x2, weights)
    moments = np.zeros((9, 9))
    v = np.empty(9)
    for n in range(x1.shape[0]):
        _fill_embedding(v, (x1[n, 0] - c1x) * s1, (x1[n, 1] - c1y) * s1,
                        (x2[n, 0] - c2x) * s2, (x2[n, 1] - c2y) * s2)
        for i in range(9):
            wi = weights[n] * v[i]
            for j in range(i + 1):
                moments[i, j] += wi * v[j]
    for i in range(9):
        for j in range(i):
            moments[j, i] = moments[i, j]
    _, vectors = eigh(moments)
    return to_pixels(rank_two(as_matrix(vectors[:, 0])), c1x, c1y, s1, c2x, c2y, s2)


@kernel
def eight_point_samples(x1: FloatArray, x2: FloatArray, samples: IntArray,
                        iterations: int) -> FloatArray:
    """One eight-point fit for each row of indices."""
    count, size = samples.shape
    out = np.empty((count, 3, 3))
    y1 = np.empty((size, 2))
    y2 = np.empty((size, 2))
    ones = np.ones(size)
    v = np.empty(9)
    moments = np.empty((9, 9))
    for h in range(count):
        for k in range(size):
            n = samples[h, k]
            y1[k, 0], y1[k, 1] = x1[n, 0], x1[n, 1]
            y2[k, 0], y2[k, 1] = x2[n, 0], x2[n, 1]
        c1x, c1y, s1 = centre_and_scale(y1, ones)
        c2x, c2y, s2 = centre_and_scale(y2, ones)
        for i in range(9):
            for j in range(9):
                moments[i, j] = 0.0
        for k in range(size):
            _fill_embedding(v, (y1[k, 0] - c1x) * s1, (y1[k, 1] - c1y) * s1,
                            (y2[k, 0] - c2x) * s2, (y2[k, 1] - c2y) * s2)
            for i in range(9):
                for j in range(i + 1):
                    moments[i, j] += v[i] * v[j]
        f = as_matrix(lowest_eigenvector(moments, iterations))
        _store(to_pixels(rank_two(f), c1x, c1y, s1, c2x, c2y, s2), out, h)
    return out


@kernel
def eight_point_moments(moments: FloatArray, iterations: int) -> FloatArray:
    """
    One eight-point fit for each (9, 9) moment matrix sum w v v^T.

    Hartley's transforms are read from the moments themselves (they hold the first and second
    moments of either view) and applied to them as (T2 (x) T1) M (T2 (x) T1)^T.
    """
    out = np.empty((moments.shape[0], 3, 3))
    scaled = np.empty((9, 9))
    s = np.empty((9, 9))
    for h in range(moments.shape[0]):
        m = moments[h]
        c1x, c1y, s1 = _moment_transform(m[6, 8], m[7, 8], m[6, 6] + m[7, 7], m[8, 8])
        c2x, c2y, s2 = _moment_transform(m[2, 8], m[5, 8], m[2, 2] + m[5, 5], m[8, 8])
        t1 = times_transform(np.eye(3), c1x, c1y, s1)
        t2 = times_transform(np.eye(3), c2x, c2y, s2)
        for i in range(9):
            for j in range(9):
                s[i, j] = t2[i // 3, j // 3] * t1[i % 3, j % 3]
        half = np.zeros((9, 9))
        for i in range(9):
            for k in range(9):
                if s[i, k] != 0.0:
                    for j in range(9):
                        half[i, j] += s[i, k] * m[k, j]
        for i in range(9):
            for j in range(9):
                total = 0.0
                for k in range(9):
                    total += half[i, k] * s[j, k]
                scaled[i, j] = total
        f = as_matrix(lowest_eigenvector(scaled, iterations))
        _store(to_pixels(rank_two(f), c1x, c1y, s1, c2x, c2y, s2), out, h)
    return out


@kernel
def _moment_transform(sx: float, sy: float, sxx: float,
                      total: float) -> tuple[float, float, float]:
    if not total > 0.0:
        return 0.0, 0.0, 1.0
    cx, cy = sx / total, sy / total
    spread = sxx / total - cx * cx - cy * cy
    if not spread > 1e-12 * (1e-12 + cx * cx + cy * cy):
        return cx, cy, 1.0
    return cx, cy, np.sqrt(2.0 / spread)


@kernel
def _fill_sampson(f: FloatArray, x1: FloatArray, x2: FloatArray, out: FloatArray) -> None:
    f00, f01, f02 = f[0, 0], f[0, 1], f[0, 2]
    f10, f11, f12 = f[1, 0], f[1, 1], f[1, 2]
    f20, f21, f22 = f[2, 0], f[2, 1], f[2, 2]
    for i in range(x1.shape[0]):
        x, y, u, w = x1[i, 0], x1[i, 1], x2[i, 0], x2[i, 1]
        a0 = f00 * x + f01 * y + f02
        a1 = f10 * x + f11 * y + f12
        c = u * a0 + w * a1 + f20 * x + f21 * y + f22
        b0 = f00 * u + f10 * w + f20
        b1 = f01 * u + f11 * w + f21
        d = a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1
        # Both points at the epipoles: 0 / 0, and they fit.
        out[i] = abs(c) / np.sqrt(d + 1e-200) if c != 0.0 else 0.0


@kernel
def sampson(f: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """(N,) Sampson distances of N points to one matrix."""
    out = np.empty(x1.shape[0])
    _fill_sampson(f, x1, x2, out)
    return out


@kernel
def sampson_many(fs: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """(H, N) Sampson distances of N points to H matrices."""
    out = np.empty((fs.shape[0], x1.shape[0]))
    for h in range(fs.shape[0]):
        _fill_sampson(fs[h], x1, x2, out[h])
    return out


@kernel
def sampson_cost(f: FloatArray, x1: FloatArray, x2: FloatArray, weights: FloatArray,
                 loss2: float) -> float:
    """Sum of w r^2, or of the Cauchy loss w c^2 log(1 + r^2 / c^2) where c^2 = loss2 > 0."""
    cost = 0.0
    for i in range(x1.shape[0]):
        x, y, u, w = x1[i, 0], x1[i, 1], x2[i, 0], x2[i, 1]
        a0 = f[0, 0] * x + f[0, 1] * y + f[0, 2]
        a1 = f[1, 0] * x + f[1, 1] * y + f[1, 2]
        c = u * a0 + w * a1 + f[2, 0] * x + f[2, 1] * y + f[2, 2]
        b0 = f[0, 0] * u + f[1, 0] * w + f[2, 0]
        b1 = f[0, 1] * u + f[1, 1] * w + f[2, 1]
        r2 = c * c / (a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1 + 1e-200)
        cost += weights[i] * (loss2 * np.log1p(r2 / loss2) if loss2 > 0.0 else r2)
    return cost


@kernel
def sampson_normal_equations(f: FloatArray, x1: FloatArray, x2: FloatArray, weights: FloatArray,
                             loss2: float, gram: FloatArray, gradient: FloatArray) -> None:
    """
    Gauss-Newton terms sum w g g^T and sum w r g, with g = dr / dvec(F) in R^9.

    A parametrisation with basis B = dvec(F) / dp then has J^T J = B^T (sum w g g^T) B: one pass
    over the points serves every parametrisation.
    """
    for i in range(9):
        gradient[i] = 0.0
        for j in range(9):
            gram[i, j] = 0.0
    g = np.empty(9)
    for n in range(x1.shape[0]):
        x, y, u, w = x1[n, 0], x1[n, 1], x2[n, 0], x2[n, 1]
        a0 = f[0, 0] * x + f[0, 1] * y + f[0, 2]
        a1 = f[1, 0] * x + f[1, 1] * y + f[1, 2]
        c = u * a0 + w * a1 + f[2, 0] * x + f[2, 1] * y + f[2, 2]
        b0 = f[0, 0] * u + f[1, 0] * w + f[2, 0]
        b1 = f[0, 1] * u + f[1, 1] * w + f[2, 1]
        d = a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1 + 1e-200
        root = 1.0 / np.sqrt(d)
        r = c * root
        k = c / d
        # r = C / sqrt(D): dr = (dC - (C / 2D) dD) / sqrt(D)
        g[0] = root * (u * x - k * (a0 * x + b0 * u))
        g[1] = root * (u * y - k * (a0 * y + b1 * u))
        g[2] = root * (u - k * a0)
        g[3] = root * (w * x - k * (a1 * x + b0 * w))
        g[4] = root * (w * y - k * (a1 * y + b1 * w))
        g[5] = root * (w - k * a1)
        g[6] = root * (x - k * b0)
        g[7] = root * (y - k * b1)
        g[8] = root
        weight = weights[n]
        if loss2 > 0.0:
            weight /= 1.0 + r * r / loss2
        for i in range(9):
            wg = weight * g[i]
            gradient[i] += wg * r
            for j in range(i + 1):
                gram[i, j] += wg * g[j]
    for i in range(9):
        for j in range(i):
            gram[j, i] = gram[i, j]


@kernel
def project(gram: FloatArray, gradient: FloatArray,
            basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """B^T G B and B^T g for a basis of p directions in R^9, given as (p, 9)."""
    p = basis.shape[0]
    half = np.zeros((p, 9))
    for a in range(p):
        for i in range(9):
            for j in range(9):
                half[a, j] += basis[a, i] * gram[i, j]
    jtj = np.zeros((p, p))
    jtr = np.zeros(p)
    for a in range(p):
        for b in range(p):
            for j in range(9):
                jtj[a, b] += half[a, j] * basis[b, j]
        for j in range(9):
            jtr[a] += basis[a, j] * gradient[j]
    return jtj, jtr


@kernel
def damped_step(jtj: FloatArray, jtr: FloatArray, damping: float,
                step: FloatArray) -> bool:
    """Levenberg-Marquardt step -(J^T J + damping diag)^-1 J^T r; False if it cannot be solved."""
    p = jtr.shape[0]
    largest = 0.0
    for i in range(p):
        largest = max(largest, jtj[i, i])
    factor = jtj.copy()
    for i in range(p):
        # The floor gives directions that the points do not see (a degenerate scene) a length.
        factor[i, i] += damping * max(jtj[i, i], 1e-9 * largest) + 1e-300
        step[i] = -jtr[i]
    if not cholesky_inplace(factor):
        return False
    cholesky_solve_inplace(factor, step)
    return True


@kernel
def promised(jtr: FloatArray, step: FloatArray) -> float:
    """Decrease of the cost that a step promises; where it is nothing, the search is over."""
    decrease = 0.0
    for i in range(jtr.shape[0]):
        decrease -= jtr[i] * step[i]
    return decrease


@kernel
def _compose(u: FloatArray, theta: float, v: FloatArray) -> FloatArray:
    """U diag(cos theta, sin theta, 0) V^T: rank two and unit Frobenius norm by construction."""
    f = np.empty((3, 3))
    c, s = np.cos(theta), np.sin(theta)
    for i in range(3):
        for j in range(3):
            f[i, j] = c * u[i, 0] * v[j, 0] + s * u[i, 1] * v[j, 1]
    return f


@kernel
def _rank_two_basis(u: FloatArray, theta: float, v: FloatArray, f: FloatArray) -> FloatArray:
    """(7, 9) derivatives of vec(F) by rotations of U, rotations of V, and theta."""
    basis = np.zeros((7, 9))
    for j in range(3):
        # [e_k]x F for U, and -F [e_k]x for V
        basis[0, 3 + j], basis[0, 6 + j] = -f[2, j], f[1, j]
        basis[1, j], basis[1, 6 + j] = f[2, j], -f[0, j]
        basis[2, j], basis[2, 3 + j] = -f[1, j], f[0, j]
        basis[3, 3 * j + 1], basis[3, 3 * j + 2] = -f[j, 2], f[j, 1]
        basis[4, 3 * j], basis[4, 3 * j + 2] = f[j, 2], -f[j, 0]
        basis[5, 3 * j], basis[5, 3 * j + 1] = -f[j, 1], f[j, 0]
    c, s = np.cos(theta), np.sin(theta)
    for i in range(3):
        for j in range(3):
            basis[6, 3 * i + j] = -s * u[i, 0] * v[j, 0] + c * u[i, 1] * v[j, 1]
    return basis


@kernel
def refine_rank_two(f_pixels: FloatArray, x1: FloatArray, x2: FloatArray, weights: FloatArray,
                    loss: float, iterations: int, tolerance: float) -> FloatArray:
    """Minimise the Sampson cost over all matrices of rank two by Levenberg-Marquardt."""
    c1x, c1y, s1 = centre_and_scale(x1, weights)
    c2x, c2y, s2 = centre_and_scale(x2, weights)
    # One scale for both views: only then is the Sampson distance a multiple of the one in pixels.
    scale = np.sqrt(s1 * s2)
    y1 = np.empty_like(x1)
    y2 = np.empty_like(x2)
    for n in range(x1.shape[0]):
        y1[n, 0], y1[n, 1] = (x1[n, 0] - c1x) * scale, (x1[n, 1] - c1y) * scale
        y2[n, 0], y2[n, 1] = (x2[n, 0] - c2x) * scale, (x2[n, 1] - c2y) * scale
    u, s, v = svd3(from_pixels(f_pixels, c1x, c1y, scale, c2x, c2y, scale))
    theta = np.arctan2(s[1], s[0])
    f = _compose(u, theta, v)
    loss2 = (loss * scale) ** 2
    cost = sampson_cost(f, y1, y2, weights, loss2)
    gram = np.empty((9, 9))
    gradient = np.empty(9)
    step = np.empty(7)
    damping = 1e-3
    for _ in range(iterations):
        sampson_normal_equations(f, y1, y2, weights, loss2, gram, gradient)
        jtj, jtr = project(gram, gradient, _rank_two_basis(u, theta, v, f))
        better = False
        small = False
        while damping < MAX_DAMPING:
            if damped_step(jtj, jtr, damping, step):
                if promised(jtr, step) <= tolerance * cost:
                    break
                new_u = matmul3(rotation_exp(step[0:3]), u)
                new_v = matmul3(rotation_exp(step[3:6]), v)
                new_f = _compose(new_u, theta + step[6], new_v)
                new_cost = sampson_cost(new_f, y1, y2, weights, loss2)
                if new_cost < cost:
                    better = True
                    small = cost - new_cost <= tolerance * cost
                    u, v, f, cost = new_u, new_v, new_f, new_cost
                    theta += step[6]
                    damping = max(damping * 0.1, 1e-12)
                    break
            damping *= 10.0
        if small or not better:
            break
    # Between views of very different scale, the way there and back may cost more than was won.
    refined = to_pixels(f, c1x, c1y, scale, c2x, c2y, scale)
    start = unit_frobenius(rank_two(f_pixels))
    loss2 = loss * loss
    if (sampson_cost(refined, x1, x2, weights, loss2)
            <= sampson_cost(start, x1, x2, weights, loss2)):
        return refined
    return start
