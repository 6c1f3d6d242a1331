# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Homographies x2 ~ H x1 in pixels, and the smooth flows that they are: fit, measure.

A smooth flow of eight parameters is that of a plane, or of a camera that turns, zooms or rests:

    u = h0 + h1 x + h2 y + (h6 x + h7 y) (x - u)
    v = h3 + h4 x + h5 y + (h6 x + h7 y) (y - v)

(x, y) is the newer position and (x - u, y - v) the older one, in units of the focal length. The
distances from a homography compare with the Sampson distance of F.
"""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inner_kernel, kernel
from gdm_motion_seg.geometry.fundamental import checked_points
from gdm_motion_seg.geometry.numerics import solve_inplace

CONSTANT, AFFINE, PLANAR = 2, 6, 8
"""Numbers of parameters: a constant flow (h0, h3), an affine one, all."""
ORDER = np.array([0, 3, 1, 2, 4, 5, 6, 7])
"""Parameters in the order in which simpler models use them."""
MIN_POINTS = 4
"""Points that a homography needs, no three of them on a line."""
FAR = 1e12
"""Distance in pixels of a point whose image lies on or behind the horizon."""
SCALES = (1e9, 32.0, 16.0, 8.0, 4.0, 2.0, 2.0)
"""Scales of the fit over that of the loss: after least squares, wrong points lose their weight
step by step. On bodies of KITTI and DAVIS the loss is lower than that of OpenCV's MAGSAC++."""


@inner_kernel
def flow_residual(h: FloatArray, x: float, y: float, u: float, v: float) -> tuple[float, float]:
    """Return the residual of the flow (u, v) at (x, y)."""
    q = h[6] * x + h[7] * y
    return (u - (h[0] + h[1] * x + h[2] * y + q * (x - u)),
            v - (h[3] + h[4] * x + h[5] * y + q * (y - v)))


@kernel
def refine_flow(h: FloatArray, x: FloatArray, flow: FloatArray, weight: FloatArray,
                members: IntArray, scale: float, parameters: int) -> None:
    """
    Take one step of iteratively reweighted least squares (Geman-McClure), in place.

    ``scale`` is the residual at which a point has lost three quarters of its weight; only the
    first ``parameters`` of the model are fitted.
    """
    jtj, jtr = np.zeros((8, 8)), np.zeros(8)
    # u depends on the parameters 0, 2, 3 and v on 1, 4, 5 alike: their sums are the same.
    one = wx = wy = wxx = wxy = wyy = 0.0
    for n in members:
        px, py = x[n, 0], x[n, 1]
        rx, ry = flow_residual(h, px, py, flow[n, 0], flow[n, 1])
        w = weight[n] / (1.0 + (rx * rx + ry * ry) / (scale * scale)) ** 2
        one, wx, wy = one + w, wx + w * px, wy + w * py
        wxx, wxy, wyy = wxx + w * (px * px), wxy + w * (px * py), wyy + w * (py * py)
        jtr[0] += w * rx
        jtr[1] += w * ry
        jtr[2] += w * (px * rx)
        jtr[3] += w * (py * rx)
        jtr[4] += w * (px * ry)
        jtr[5] += w * (py * ry)
        if parameters == PLANAR:
            older_x, older_y = px - flow[n, 0], py - flow[n, 1]
            xx, yx = w * (px * older_x), w * (py * older_x)
            xy, yy = w * (px * older_y), w * (py * older_y)
            square = w * (older_x * older_x + older_y * older_y)
            jtr[6] += xx * rx + xy * ry
            jtr[7] += yx * rx + yy * ry
            jtj[6, 0] += xx
            jtj[6, 1] += xy
            jtj[7, 0] += yx
            jtj[7, 1] += yy
            jtj[6, 2] += xx * px
            jtj[6, 3] += xx * py
            jtj[6, 4] += xy * px
            jtj[6, 5] += xy * py
            jtj[7, 3] += yx * py
            jtj[7, 5] += yy * py
            jtj[6, 6] += square * (px * px)
            jtj[7, 6] += square * (px * py)
            jtj[7, 7] += square * (py * py)
    for u, v in ((0, 1), (2, 4), (3, 5)):
        jtj[u, u] = jtj[v, v] = one if u == 0 else (wxx if u == 2 else wyy)
    jtj[2, 0] = jtj[4, 1] = wx
    jtj[3, 0] = jtj[5, 1] = wy
    jtj[3, 2] = jtj[5, 4] = wxy
    if parameters == PLANAR:
        jtj[7, 2], jtj[7, 4] = jtj[6, 3], jtj[6, 5]
    for i in range(parameters, 8):
        jtr[i] = 0.0
        for j in range(8):
            jtj[i, j] = 0.0
    for i in range(8):
        # A little damping keeps few or collinear points from raising it; others stay as they are.
        jtj[i, i] += 1e-9 if i < parameters else 1.0
    if solve_inplace(jtj, jtr):
        for i in range(parameters):
            h[ORDER[i]] += jtr[i]


def fit_homography(x1: FloatArray, x2: FloatArray, loss_px: float) -> FloatArray:
    """Fit H to (N, 2) pixels, N >= 4, of which some may be wrong by more than ``loss_px``."""
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    centre = a1.mean(axis=0)
    unit = max(float(np.abs(a1 - centre).max()), 1e-9)
    # The model has the flow at the newer position: from the second view to the first.
    y, flow, h = (a1 - centre) / unit, (a1 - a2) / unit, np.zeros(8)
    weight, everyone = np.ones(len(a1)), np.arange(len(a1))
    for scale in SCALES:
        refine_flow(h, y, flow, weight, everyone, scale * loss_px / unit, PLANAR)
    frame = np.array([[unit, 0.0, centre[0]], [0.0, unit, centre[1]], [0.0, 0.0, 1.0]])
    # Of points on a line H may send all to infinity: a similarity has then a lower loss.
    found = [_similarity(a1, a2), flow_to_older(h, frame)]
    return normalize_homography(min(found, key=lambda h: cauchy_cost(h, a1, a2, loss_px)))


def flow_to_older(h: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """Return the homography from the newer to the older position of a smooth flow."""
    older = np.array([[1.0 - h[1], -h[2], -h[0]], [-h[4], 1.0 - h[5], -h[3]], [h[6], h[7], 1.0]])
    return np.asarray(camera_matrix @ older @ np.linalg.inv(camera_matrix))


def _similarity(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """Return the least-squares similarity, as a line fit of complex numbers."""
    z1, z2 = x1[:, 0] + 1j * x1[:, 1], x2[:, 0] + 1j * x2[:, 1]
    d1, d2 = z1 - z1.mean(), z2 - z2.mean()
    power, factor = float(np.vdot(d1, d1).real), complex(np.vdot(d1, d2))
    a = factor / power if abs(factor) > 1e-6 * power else 1.0
    b = complex(z2.mean() - a * z1.mean())
    a = complex(a)
    return np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag], [0.0, 0.0, 1.0]])


def cauchy_cost(h: FloatArray, x1: FloatArray, x2: FloatArray, loss_px: float) -> float:
    """Return the Cauchy loss of the distances of points from a homography."""
    return float(np.log1p((_distances(h, x1, x2) / loss_px) ** 2).sum())


def homography_distances(homography: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Return the first-order (Sampson) distances (N,) of points from a homography, in pixels.

    It is the distance in the space of both points, as the Sampson distance of F is, so that the
    two compare: under noise of standard deviation s its square is distributed as s^2 chi^2 with
    two degrees of freedom. A point that H sends across the horizon gets a very large distance.
    """
    return _distances(np.ascontiguousarray(homography, np.float64), *checked_points(x1, x2))


def normalize_homography(homography: FloatArray) -> FloatArray:
    """Divide H by its last entry where that is not near zero, else by its norm."""
    norm = float(np.linalg.norm(homography))
    last, row = float(homography[2, 2]), float(np.abs(homography[2]).max())
    # Pixels make the last column large: "near zero" is relative to the last row.
    usable = abs(last) > 1e-9 * row and abs(last) > 1e-30 * norm
    return homography / (last if usable else max(norm, 1e-300))


@kernel
def _distances(h: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """Return sqrt(e^T (I + A A^T)^-1 e) of e = pi(H x1) - x2, with A = d pi(H x1) / d x1."""
    distances, size, positive = np.empty(len(x1)), 1e-300, 0
    for i in range(3):
        for j in range(3):
            size = max(size, abs(h[i, j]))
    for n in range(len(x1)):
        positive += h[2, 0] * x1[n, 0] + h[2, 1] * x1[n, 1] + h[2, 2] > 0.0
    # The visible side of the horizon is the one with more points.
    least = 1e-12 * (size if 2 * positive >= len(x1) else -size)
    for n in range(len(x1)):
        x, y = x1[n, 0], x1[n, 1]
        w = h[2, 0] * x + h[2, 1] * y + h[2, 2]
        if not w / least > 1.0:
            distances[n] = FAR
            continue
        px = (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / w
        py = (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / w
        a00, a01 = (h[0, 0] - px * h[2, 0]) / w, (h[0, 1] - px * h[2, 1]) / w
        a10, a11 = (h[1, 0] - py * h[2, 0]) / w, (h[1, 1] - py * h[2, 1]) / w
        c00 = 1.0 + a00 * a00 + a01 * a01
        c10 = a10 * a00 + a11 * a01
        c11 = 1.0 + a10 * a10 + a11 * a11
        e0, e1 = px - x2[n, 0], py - x2[n, 1]
        rest = e1 - c10 / c00 * e0
        squared = e0 * e0 / c00 + rest * rest / max(c11 - c10 * c10 / c00, 1.0)
        distances[n] = min(math.sqrt(squared), FAR)
    return distances
