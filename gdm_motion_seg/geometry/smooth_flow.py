# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Smooth flow of eight parameters: that of a plane, or of a camera that turns, zooms or rests.

    u = h0 + h1 x + h2 y + (h6 x + h7 y) (x - u)
    v = h3 + h4 x + h5 y + (h6 x + h7 y) (y - v)

(x, y) is the newer position and (x - u, y - v) the older one, so the flow is a homography.
Positions and flow are in units of the focal length.
"""

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inner_kernel, kernel
from gdm_motion_seg.geometry.numerics import cholesky_inplace, cholesky_solve_inplace

CONSTANT, AFFINE, PLANAR = 2, 6, 8
"""Numbers of parameters: a constant flow (h0, h3), an affine one, all."""
ORDER = np.array([0, 3, 1, 2, 4, 5, 6, 7])
"""Parameters in the order in which simpler models use them."""


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
    if cholesky_inplace(jtj):
        cholesky_solve_inplace(jtj, jtr)
        for i in range(parameters):
            h[ORDER[i]] += jtr[i]
