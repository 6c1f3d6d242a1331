# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The affine flow of a small body over several gaps, compiled."""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.homography import AFFINE, CONSTANT, flow_residual, refine_flow
from gdm_motion_seg.geometry.numerics import median

FEW = 5
"""Tracks up to which the flow of a body is constant: more determine an affine one."""


@kernel
def affine_costs(positions: FloatArray, before: FloatArray, members: IntArray, width: float,
                 noise: tuple[float, float], cap: float) -> FloatArray:
    """
    Fit an affine flow to the members over every gap; return the nats of all tracks.

    ``positions`` (N, 2) and ``before`` (G, N, 2) are pixels in the newest frame and in each
    earlier one, NaN where a track is younger; ``width`` is that of the image. ``noise`` is the
    standard deviation of a track about the flow: pixels, and a share of the flow. The nats (N,)
    are the mean over the gaps that a track spans, and at most ``cap``.
    """
    n = len(positions)
    # In units of the image width, about the body's centre.
    centre_x = centre_y = 0.0
    for i in members:
        centre_x += positions[i, 0]
        centre_y += positions[i, 1]
    centre_x /= max(len(members), 1)
    centre_y /= max(len(members), 1)
    x, flow, h = np.empty((n, 2)), np.empty((n, 2)), np.empty(8)
    ones, total, count = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        x[i, 0] = (positions[i, 0] - centre_x) / width
        x[i, 1] = (positions[i, 1] - centre_y) / width
        ones[i], total[i], count[i] = 1.0, 0.0, 0.0
    own_flow, own = np.empty((2, len(members))), np.empty(len(members), np.int64)
    for gap in range(len(before)):
        for i in range(n):
            u, v = positions[i, 0] - before[gap, i, 0], positions[i, 1] - before[gap, i, 1]
            known = math.isfinite(u)
            flow[i, 0], flow[i, 1] = (u / width, v / width) if known else (0.0, 0.0)
        few = 0
        for i in members:
            if math.isfinite(before[gap, i, 0]):
                own[few], own_flow[0, few], own_flow[1, few] = i, flow[i, 0], flow[i, 1]
                few += 1
        if few < FEW - 2:
            continue
        for i in range(8):
            h[i] = 0.0
        h[0], h[3] = median(own_flow[0, :few]), median(own_flow[1, :few])
        scale = noise[0] / width + noise[1] * math.hypot(h[0], h[3])
        for _ in range(4):
            refine_flow(h, x, flow, ones, own[:few], 2.0 * scale,
                        AFFINE if few > FEW else CONSTANT)
        for i in range(n):
            if math.isfinite(before[gap, i, 0]):
                u, v = flow_residual(h, x[i, 0], x[i, 1], flow[i, 0], flow[i, 1])
                total[i] += min(0.5 * (u * u + v * v) / (scale * scale), cap)
                count[i] += 1.0
    for i in range(n):
        total[i] = total[i] / count[i] if count[i] > 0.0 else cap
    return total
