# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Fundamental matrices: fit, refine, measure.

Everywhere x2^T F x1 = 0 with F in pixels, of rank two and unit Frobenius norm, and distances are
Sampson distances in pixels. The fit and the refinement are by hand: OpenCV has neither weights nor
a refinement on the Sampson distance, and no answer for degenerate points.
"""

import math
from typing import NamedTuple

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.compilation import inner_kernel, kernel
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.embedding import kronecker_embedding
from gdm_motion_seg.geometry.numerics import (
    LOSS_SIGMAS, noise_scale, PRIOR_NOISE_PX, solve_inplace)
from gdm_motion_seg.geometry.rigid import entries, epipolar, essential, fit_rigid

FOCAL_PX = 768.0
"""Focal length of the second start, at 640 pixels: F is refined without it."""
RIGID_CAP = 8.0
"""Most nats of a point while the starts of that fit compete: 4 standard deviations."""
MIN_POINTS = 8
"""Points that a linear fit of F needs."""
INLIER_SIGMAS = 3.5
"""Residuals up to here, over the noise, take part in the last fit by least squares."""
SUSPICIOUS_NOISE_PX = 1.0
"""Noise, at 640 pixels, from which on gross errors are looked for, ..."""
GROSS_SIGMAS, GROSS_SHARE = 5.0, 0.02
"""... as they are if this share of the points lies beyond so many standard deviations."""
LEAST_SQUARES = 1e9
"""Scale of the Cauchy loss, in pixels, at which it is the squared distance."""
MOST_DAMPING = 1e9
"""Damping at which no step lowers the cost any more."""
STIFF = 1e3
"""Stiffness of the constraints over the trace of the normal equations."""


class Frame(NamedTuple):
    """Coordinates in which F is fitted: centroids at 0, and one scale for both views."""

    points: FloatArray
    """(4, N) points: x and y of the first view, x and y of the second one."""
    scale: float
    """Normalised units per pixel. Only because it is one, Sampson distances are multiples."""
    first: FloatArray
    """(3, 3) transform of the first view, from pixels."""
    second: FloatArray
    """(3, 3) transform of the second view, from pixels."""

    @classmethod
    def of(cls, x1: FloatArray, x2: FloatArray, weights: FloatArray) -> 'Frame':
        """Normalise points so that the weighted mean squared radius is about 2 (Hartley)."""
        joint = np.concatenate((x1.T, x2.T))
        total = max(float(weights.sum()), 1e-300)
        centre = joint @ weights / total
        points = joint - centre[:, None]
        spread = points ** 2 @ weights / total
        # Below the rounding of the coordinates there is no spread to scale by.
        s1, s2 = (2.0 / s if s > 1e-24 * (1.0 + c) else 1.0 for s, c in (
            (spread[0] + spread[1], centre[:2] @ centre[:2]),
            (spread[2] + spread[3], centre[2:] @ centre[2:])))
        scale = float(s1 * s2) ** 0.25
        points *= scale
        first, second = (np.array([[scale, 0.0, -scale * x], [0.0, scale, -scale * y],
                                   [0.0, 0.0, 1.0]]) for x, y in (centre[:2], centre[2:]))
        return cls(points, scale, first, second)

    def to_pixels(self, f: FloatArray) -> FloatArray:
        """Return an F of these coordinates in pixels."""
        return rank_two(self.second.T @ f @ self.first)

    def eight_point(self, weights: FloatArray) -> FloatArray:
        """Return the linear fit."""
        v = kronecker_embedding(self.points[:2].T, self.points[2:].T)
        _, vectors = np.linalg.eigh((v * weights[:, None]).T @ v)
        return rank_two(vectors[:, 0].reshape(3, 3))

    def refine_at_own_scale(self, f: FloatArray, unit: float) -> float:
        """Refine twice, in place, each time at the scale of the residuals; return the last."""
        ones = np.ones(self.points.shape[1])
        for _ in range(2):
            loss = LOSS_SIGMAS * noise_scale(_sampson(f, self.points), unit, 1, 7)
            minimise(f, self.points, ones, loss * loss, 20, 1e-3)
        return noise_scale(_sampson(f, self.points), unit, 1, 7)


def fit_fundamental_robust(x1: FloatArray, x2: FloatArray, unit: float) -> FloatArray:
    """
    Fit F to the points of one motion, of which a few may be wrong.

    The eight-point fit is refined under a Cauchy loss whose scale follows the residuals, and then
    by least squares on the inliers. Where there are signs of gross errors, a rigid motion, which
    has two degrees of freedom less, is a second start. ``unit`` is the size of the image relative
    to 640 pixels.
    """
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    frame = Frame.of(a1, a2, np.ones(len(a1)))
    points, unit = frame.points, unit * frame.scale
    f = frame.eight_point(np.ones(len(a1)))
    noise = frame.refine_at_own_scale(f, unit)
    gross = int((_sampson(f, points) > GROSS_SIGMAS * noise).sum())
    if noise > SUSPICIOUS_NOISE_PX * unit or gross > GROSS_SHARE * len(a1):
        other = _rigid_start(points, FOCAL_PX * unit, PRIOR_NOISE_PX * unit)
        other_noise = frame.refine_at_own_scale(other, unit)
        if other_noise < noise:
            f, noise = other, other_noise
    inliers = (_sampson(f, points) < INLIER_SIGMAS * noise).astype(np.float64)
    minimise(f, points, inliers, (LEAST_SQUARES * frame.scale) ** 2, 20, 1e-5)
    return frame.to_pixels(f)


def _rigid_start(points: FloatArray, focal: float, noise: float) -> FloatArray:
    """Return the F of the rigid motion that fits points best under a usual focal length."""
    n = points.shape[1]
    motion, matrix = np.empty((4, 3)), np.empty((3, 3))
    # In C order: each layout of an array is compiled for itself.
    rays = np.ascontiguousarray(points / focal)
    fit_rigid(motion, rays, np.arange(n), np.full(n, (focal / noise) ** 2), RIGID_CAP)
    essential(motion, matrix)
    scale = np.array([1.0, 1.0, focal])
    return _unit_norm(matrix * np.outer(scale, scale))


def sampson_distances(fundamental: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Return the Sampson distances (N,) of points in pixels; (H, N) for matrices (H, 3, 3).

    It is the distance of a correspondence from the epipolar geometry to first order. With
    independent noise of standard deviation s in all four coordinates it is distributed as the
    absolute value of s N(0, 1).

    Examples
    --------
    A camera that moves to the right sees points move along rows:

    >>> f = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    >>> sampson_distances(f, np.array([[10.0, 5.0]]), np.array([[4.0, 5.0]]))
    array([0.])

    """
    fs = np.ascontiguousarray(fundamental, np.float64)
    a1, a2 = checked_points(x1, x2)
    if fs.shape[-2:] != (3, 3) or fs.ndim not in (2, 3):
        raise InputError(f'fundamental must have the shape (3, 3) or (H, 3, 3), got {fs.shape}')
    points = np.concatenate((a1.T, a2.T))
    if fs.ndim == 2:
        return _sampson(fs, points)
    return np.array([_sampson(f, points) for f in fs]).reshape(len(fs), len(a1))


def checked_points(x1: FloatArray, x2: FloatArray,
                   least: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return (N, 2) points as the kernels want them; InputError if they are none or too few."""
    a1, a2 = np.ascontiguousarray(x1, np.float64), np.ascontiguousarray(x2, np.float64)
    if a1.ndim != 2 or a1.shape[1] != 2 or a1.shape != a2.shape:
        raise InputError(f'x1 and x2 must have the same shape (N, 2), got {a1.shape} and '
                         f'{a2.shape}')
    if len(a1) < least:
        raise InputError(f'at least {least} points are needed, got {len(a1)}')
    return a1, a2


def rank_two(matrix: FloatArray) -> FloatArray:
    """Return the nearest matrix of rank two in the Frobenius norm, at unit norm."""
    u, s, vt = np.linalg.svd(matrix)
    return _unit_norm((u[:, :2] * s[:2]) @ vt[:2])


def _unit_norm(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix / max(float(np.linalg.norm(matrix)), 1e-300))


@kernel
def _sampson(f: FloatArray, points: FloatArray) -> FloatArray:
    e, distances = entries(f), np.empty(points.shape[1])
    for n in range(points.shape[1]):
        _, _, _, _, c, q = epipolar(e, points[0, n], points[1, n], points[2, n], points[3, n])
        distances[n] = abs(c) / math.sqrt(q)
    return distances


@kernel
def _normal_equations(f: FloatArray, points: FloatArray, weights: FloatArray, loss2: float,
                      jtj: FloatArray, jtr: FloatArray) -> float:
    """Write the Gauss-Newton terms of the Sampson distances in the entries of F; return cost."""
    cost, g, e = 0.0, np.empty(9), entries(f)
    for i in range(9):
        jtr[i] = 0.0
        for j in range(9):
            jtj[i, j] = 0.0
    for n in range(points.shape[1]):
        x, y, u, v = points[0, n], points[1, n], points[2, n], points[3, n]
        l0, l1, m0, m1, c, q = epipolar(e, x, y, u, v)
        # r = c / sqrt(q): dr = (dc - (c / 2q) dq) / sqrt(q)
        h, root = c / q, 1.0 / math.sqrt(q)
        g[0] = root * (u * x - h * (l0 * x + m0 * u))
        g[1] = root * (u * y - h * (l0 * y + m1 * u))
        g[2] = root * (u - h * l0)
        g[3] = root * (v * x - h * (l1 * x + m0 * v))
        g[4] = root * (v * y - h * (l1 * y + m1 * v))
        g[5] = root * (v - h * l1)
        g[6] = root * (x - h * m0)
        g[7] = root * (y - h * m1)
        g[8] = root
        large = 1.0 + c * h / loss2
        cost += weights[n] * loss2 * math.log1p(c * h / loss2)
        for i in range(9):
            w = weights[n] / large * g[i]
            jtr[i] += w * c * root
            for j in range(i + 1):
                jtj[i, j] += w * g[j]
    return cost


@inner_kernel
def _cofactors(f: FloatArray, cofactor: FloatArray) -> float:
    """Write the derivative of the determinant by each entry; return the determinant."""
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            c, d = (j + 1) % 3, (j + 2) % 3
            cofactor[i, j] = f[a, c] * f[b, d] - f[a, d] * f[b, c]
    return float(f[0, 0] * cofactor[0, 0] + f[0, 1] * cofactor[0, 1] + f[0, 2] * cofactor[0, 2])


@inner_kernel
def _unit(v: FloatArray) -> float:
    """Scale nine numbers to unit norm, in place; return the norm they had."""
    norm = 1e-300
    for i in range(9):
        norm += v[i] * v[i]
    for i in range(9):
        v[i] /= math.sqrt(norm)
    return math.sqrt(norm)


@kernel
def minimise(f: FloatArray, points: FloatArray, weights: FloatArray, loss2: float,
             iterations: int, tolerance: float) -> None:
    """
    Minimise the Sampson cost over F of rank two and unit norm by Levenberg-Marquardt, in place.

    A step is tangential to both constraints: norm and determinant change along F and along its
    cofactors, and these two directions are made stiff. Newton steps on the determinant then bring
    the rank back.
    """
    matrix, jtr, factor, step = np.empty((9, 9)), np.empty(9), np.empty((9, 9)), np.empty(9)
    jtj, gradient, trial = np.empty((9, 9)), np.empty(9), np.empty((3, 3))
    cofactor = np.empty((3, 3))
    g, t, n = f.reshape(9), trial.reshape(9), cofactor.reshape(9)
    for i in range(9):
        t[i] = g[i]
    cost, damping, small = np.inf, 1e-2, False
    for _ in range(iterations + 1):
        new = _normal_equations(trial, points, weights, loss2, matrix, jtr)
        if new < cost:
            small, cost, damping = cost - new <= tolerance * new, new, max(0.1 * damping, 1e-12)
            for i in range(9):
                g[i], gradient[i] = t[i], jtr[i]
                for j in range(i + 1):
                    jtj[i, j] = matrix[i, j]
        else:
            damping *= 10.0
        _cofactors(f, cofactor)
        _unit(n)
        trace, along_f, along_n, gain = 1e-300, 0.0, 0.0, 0.0
        for i in range(9):
            trace += jtj[i, i]
            along_f += gradient[i] * g[i]
            along_n += gradient[i] * n[i]
        for i in range(9):
            for j in range(i + 1):
                factor[i, j] = jtj[i, j] + STIFF * trace * (g[i] * g[j] + n[i] * n[j])
            # The floor gives directions that the points do not see (a degenerate scene) a length.
            factor[i, i] += damping * max(jtj[i, i], 1e-9 * trace)
            step[i] = along_f * g[i] + along_n * n[i] - gradient[i]
        if small or damping > MOST_DAMPING or not solve_inplace(factor, step):
            return
        for i in range(9):
            gain -= gradient[i] * step[i]
            t[i] = g[i] + step[i]
        if gain <= tolerance * cost:
            return
        for _ in range(3):
            _unit(t)
            determinant, size = _cofactors(trial, cofactor), _unit(n)
            for i in range(9):
                t[i] -= determinant / max(size, 1e-15) * n[i]
