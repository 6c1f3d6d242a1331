# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Smooth flow of eight parameters: that of a plane, or of a camera that turns, zooms or rests.

    u = h0 + h1 x + h2 y + (h6 x + h7 y) x
    v = h3 + h4 x + h5 y + (h6 x + h7 y) y

Positions and flow are in units of the focal length.
"""

import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._linalg import cholesky_inplace, cholesky_solve_inplace
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray

CONSTANT, AFFINE, PLANAR = 2, 6, 8
"""Numbers of parameters: a constant flow (h0, h3), an affine one, all."""
ORDER = np.array([0, 3, 1, 2, 4, 5, 6, 7])
"""Parameters in the order in which simpler models use them."""


@kernel
def flow_residual(h: FloatArray, x: float, y: float, u: float, v: float) -> tuple[float, float]:
    """Return the residual of the flow (u, v) at (x, y)."""
    q = h[6] * x + h[7] * y
    return (u - (h[0] + h[1] * x + h[2] * y + q * x),
            v - (h[3] + h[4] * x + h[5] * y + q * y))


@kernel
def flow_residuals(h: FloatArray, x: FloatArray, flow: FloatArray) -> FloatArray:
    """Return the length of every residual."""
    residuals = np.empty(len(x))
    for n in range(len(x)):
        rx, ry = flow_residual(h, x[n, 0], x[n, 1], flow[n, 0], flow[n, 1])
        residuals[n] = math.hypot(rx, ry)
    return residuals


@kernel
def refine_flow(h: FloatArray, x: FloatArray, flow: FloatArray, weight: FloatArray,
                members: IntArray, scale: float, parameters: int) -> None:
    """
    Take one step of iteratively reweighted least squares (Geman-McClure), in place.

    ``scale`` is the residual at which a point has lost three quarters of its weight; only the
    first ``parameters`` of the model are fitted.
    """
    jtj, jtr = np.zeros((8, 8)), np.zeros(8)
    a, b = np.zeros(8), np.zeros(8)
    for n in members:
        px, py = x[n, 0], x[n, 1]
        rx, ry = flow_residual(h, px, py, flow[n, 0], flow[n, 1])
        w = weight[n] / (1.0 + (rx * rx + ry * ry) / (scale * scale)) ** 2
        a[0], a[2], a[3], a[6], a[7] = 1.0, px, py, px * px, px * py
        b[1], b[4], b[5], b[6], b[7] = 1.0, px, py, px * py, py * py
        for i in range(parameters):
            jtr[i] += w * (a[i] * rx + b[i] * ry)
            for j in range(i + 1):
                jtj[i, j] += w * (a[i] * a[j] + b[i] * b[j])
    for i in range(8):
        # A little damping keeps few or collinear points from raising it; others stay as they are.
        jtj[i, i] += 1e-9 if i < parameters else 1.0
    if cholesky_inplace(jtj):
        cholesky_solve_inplace(jtj, jtr)
        for i in range(parameters):
            h[ORDER[i]] += jtr[i]
