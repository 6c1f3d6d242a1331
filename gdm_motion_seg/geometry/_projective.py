# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled kernels of homographies: linear fit, distances, Levenberg-Marquardt."""

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._epipolar import (
    as_matrix, damped_step, MAX_DAMPING, promised, times_transform, unit_frobenius)
from gdm_motion_seg.geometry._linalg import eigh
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.normalization import centre_and_scale

FAR = 1e12
"""Distance in pixels of a point whose image lies on or behind the horizon."""


@kernel
def conjugate(h: FloatArray, c1x: float, c1y: float, s1: float,
              c2x: float, c2y: float, s2: float) -> FloatArray:
    """T2^-1 H T1 at unit norm, for transforms given by centre and scale."""
    g = times_transform(h, c1x, c1y, s1)
    for j in range(3):
        g[0, j] = g[0, j] / s2 + c2x * g[2, j]
        g[1, j] = g[1, j] / s2 + c2y * g[2, j]
    return unit_frobenius(g)


@kernel
def direct_linear(x1: FloatArray, x2: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted normalised direct linear transform, in pixels."""
    c1x, c1y, s1 = centre_and_scale(x1, weights)
    c2x, c2y, s2 = centre_and_scale(x2, weights)
    moments = np.zeros((9, 9))
    p = np.empty(3)
    p[2] = 1.0
    for n in range(x1.shape[0]):
        p[0], p[1] = (x1[n, 0] - c1x) * s1, (x1[n, 1] - c1y) * s1
        u, v = (x2[n, 0] - c2x) * s2, (x2[n, 1] - c2y) * s2
        w = weights[n]
        for i in range(3):
            for j in range(3):
                q = w * p[i] * p[j]
                moments[i, j] += q
                moments[3 + i, 3 + j] += q
                moments[i, 6 + j] -= u * q
                moments[3 + i, 6 + j] -= v * q
                moments[6 + i, 6 + j] += (u * u + v * v) * q
    for i in range(6):
        for j in range(6, 9):
            moments[j, i] = moments[i, j]
    _, vectors = eigh(moments)
    return conjugate(as_matrix(vectors[:, 0]), c1x, c1y, s1, c2x, c2y, s2)


@kernel
def _whitened(h: FloatArray, sign: float, x: float, y: float, u: float, v: float,
              out: FloatArray) -> bool:
    """
    First-order residual of one point: L^-1 (pi(H x1) - x2), with L L^T = I + A A^T.

    A = d pi(H x1) / d x1, so that I + A A^T is the covariance of the transfer error under unit
    noise in both views. Fills out = (r0, r1, 1/L00, L10/(L00 L11), 1/L11, px, py, pw); False
    where the point is sent to or beyond infinity.
    """
    pw = h[2, 0] * x + h[2, 1] * y + h[2, 2]
    if not pw * sign > 1e-12:
        return False
    px = (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / pw
    py = (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / pw
    a00 = (h[0, 0] - px * h[2, 0]) / pw
    a01 = (h[0, 1] - px * h[2, 1]) / pw
    a10 = (h[1, 0] - py * h[2, 0]) / pw
    a11 = (h[1, 1] - py * h[2, 1]) / pw
    c00 = 1.0 + a00 * a00 + a01 * a01
    c10 = a10 * a00 + a11 * a01
    c11 = 1.0 + a10 * a10 + a11 * a11
    l00 = np.sqrt(c00)
    l10 = c10 / l00
    l11 = np.sqrt(max(c11 - l10 * l10, 1e-300))
    e0, e1 = px - u, py - v
    out[0] = e0 / l00
    out[1] = (e1 - l10 * out[0]) / l11
    out[2] = 1.0 / l00
    out[3] = l10 / (l00 * l11)
    out[4] = 1.0 / l11
    out[5], out[6], out[7] = px, py, pw
    return True


@kernel
def _orientation(h: FloatArray, x1: FloatArray) -> float:
    """Sign of the third coordinate that most points get: the visible side of the horizon."""
    positive = 0
    for n in range(x1.shape[0]):
        if h[2, 0] * x1[n, 0] + h[2, 1] * x1[n, 1] + h[2, 2] > 0.0:
            positive += 1
    return 1.0 if 2 * positive >= x1.shape[0] else -1.0


@kernel
def transfer(h: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """(N,) first-order distances of N points to a homography."""
    out = np.empty(x1.shape[0])
    r = np.empty(8)
    unit = unit_frobenius(h)
    sign = _orientation(unit, x1)
    for n in range(x1.shape[0]):
        out[n] = FAR
        if _whitened(unit, sign, x1[n, 0], x1[n, 1], x2[n, 0], x2[n, 1], r):
            out[n] = min(np.sqrt(r[0] * r[0] + r[1] * r[1]), FAR)
    return out


@kernel
def _cost(h: FloatArray, sign: float, x1: FloatArray, x2: FloatArray, weights: FloatArray,
          loss2: float, r: FloatArray) -> float:
    cost = 0.0
    for n in range(x1.shape[0]):
        r2 = FAR
        if _whitened(h, sign, x1[n, 0], x1[n, 1], x2[n, 0], x2[n, 1], r):
            r2 = r[0] * r[0] + r[1] * r[1]
        cost += weights[n] * (loss2 * np.log1p(r2 / loss2) if loss2 > 0.0 else r2)
    return cost


@kernel
def _normal_equations(h: FloatArray, sign: float, x1: FloatArray, x2: FloatArray,
                      weights: FloatArray, loss2: float, jtj: FloatArray, jtr: FloatArray,
                      r: FloatArray) -> None:
    """
    Gauss-Newton terms in the nine entries of H; their scale is left to the damping.

    The whitening is held fixed: its derivative is multiplied by the residual, which is noise.
    """
    for i in range(9):
        jtr[i] = 0.0
        for j in range(9):
            jtj[i, j] = 0.0
    j0 = np.empty(9)
    j1 = np.empty(9)
    p = np.empty(3)
    p[2] = 1.0
    for n in range(x1.shape[0]):
        p[0], p[1] = x1[n, 0], x1[n, 1]
        if not _whitened(h, sign, p[0], p[1], x2[n, 0], x2[n, 1], r):
            continue
        w = weights[n]
        if loss2 > 0.0:
            w /= 1.0 + (r[0] * r[0] + r[1] * r[1]) / loss2
        for k in range(3):
            q = p[k] / r[7]
            # d(px, py) / dH, then whitened
            j0[k], j0[3 + k], j0[6 + k] = r[2] * q, 0.0, -r[2] * r[5] * q
            j1[k], j1[3 + k] = -r[3] * q, r[4] * q
            j1[6 + k] = (r[3] * r[5] - r[4] * r[6]) * q
        for i in range(9):
            w0, w1 = w * j0[i], w * j1[i]
            jtr[i] += w0 * r[0] + w1 * r[1]
            for j in range(i + 1):
                jtj[i, j] += w0 * j0[j] + w1 * j1[j]
    for i in range(9):
        for j in range(i):
            jtj[j, i] = jtj[i, j]


@kernel
def refine(h_pixels: FloatArray, x1: FloatArray, x2: FloatArray, weights: FloatArray,
           loss: float, iterations: int, tolerance: float) -> FloatArray:
    """Minimise the first-order distances over all homographies by Levenberg-Marquardt."""
    c1x, c1y, s1 = centre_and_scale(x1, weights)
    c2x, c2y, s2 = centre_and_scale(x2, weights)
    scale = np.sqrt(s1 * s2)
    y1 = np.empty_like(x1)
    y2 = np.empty_like(x2)
    for n in range(x1.shape[0]):
        y1[n, 0], y1[n, 1] = (x1[n, 0] - c1x) * scale, (x1[n, 1] - c1y) * scale
        y2[n, 0], y2[n, 1] = (x2[n, 0] - c2x) * scale, (x2[n, 1] - c2y) * scale
    # T2 H T1^-1: the same conjugation with the inverse transforms
    h = conjugate(h_pixels, -c1x * scale, -c1y * scale, 1.0 / scale,
                  -c2x * scale, -c2y * scale, 1.0 / scale)
    sign = _orientation(h, y1)
    loss2 = (loss * scale) ** 2
    r = np.empty(8)
    cost = _cost(h, sign, y1, y2, weights, loss2, r)
    jtj = np.empty((9, 9))
    jtr = np.empty(9)
    step = np.empty(9)
    damping = 1e-3
    for _ in range(iterations):
        _normal_equations(h, sign, y1, y2, weights, loss2, jtj, jtr, r)
        better = False
        small = False
        while damping < MAX_DAMPING:
            if damped_step(jtj, jtr, damping, step):
                if promised(jtr, step) <= tolerance * cost:
                    break
                new_h = unit_frobenius(h + as_matrix(step))
                new_cost = _cost(new_h, sign, y1, y2, weights, loss2, r)
                if new_cost < cost:
                    better = True
                    small = cost - new_cost <= tolerance * cost
                    h, cost = new_h, new_cost
                    damping = max(damping * 0.1, 1e-12)
                    break
            damping *= 10.0
        if small or not better:
            break
    # Between views of very different scale, the way there and back may cost more than was won.
    refined = conjugate(h, c1x, c1y, scale, c2x, c2y, scale)
    start = unit_frobenius(h_pixels)
    loss2 = loss * loss
    if (_cost(refined, _orientation(refined, x1), x1, x2, weights, loss2, r)
            <= _cost(start, _orientation(start, x1), x1, x2, weights, loss2, r)):
        return refined
    return start
