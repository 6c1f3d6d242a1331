# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fundamental matrices of points without wrong ones: the references of benchmarks."""

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.fundamental import (
    checked_points, Frame, LEAST_SQUARES, MIN_POINTS, minimise, rank_two, sampson_distances)


def fit_fundamental(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Fit F to (N, 2) pixels, N >= 8, by the normalised eight-point algorithm.

    The result is finite for finite points, even where the points (all equal, on a line, on a
    plane) do not determine F; then it is one of many. (Hartley, In defence of the eight-point
    algorithm, PAMI 1997.)
    """
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    ones = np.ones(len(a1))
    frame = Frame.of(a1, a2, ones)
    return frame.to_pixels(frame.eight_point(ones))


def refine_fundamental(fundamental: FloatArray, x1: FloatArray, x2: FloatArray,
                       weights: FloatArray | None = None, loss_px: float = LEAST_SQUARES,
                       iterations: int = 50, tolerance: float = 1e-9) -> FloatArray:
    """
    Minimise the Cauchy loss of the Sampson distances over all F of rank two and unit norm.

    Levenberg-Marquardt from ``fundamental`` on (N, 2) pixels, N >= 7; ``loss_px`` is the scale c
    of the loss c^2 log(1 + r^2 / c^2). The cost of the result is never higher than that of the
    start (of its part of rank two).
    """
    a1, a2 = checked_points(x1, x2, 7)
    w = np.ones(len(a1)) if weights is None else np.ascontiguousarray(weights, np.float64)
    frame, start = Frame.of(a1, a2, w), rank_two(fundamental)
    f = rank_two(np.linalg.inv(frame.second).T @ start @ np.linalg.inv(frame.first))
    minimise(f, frame.points, w, (loss_px * frame.scale) ** 2, iterations, tolerance)
    found = frame.to_pixels(f)
    # Between views of very different scale, rounding may cost more than was gained.
    before, after = (w @ np.log1p((sampson_distances(g, a1, a2) / loss_px) ** 2)
                     for g in (start, found))
    return found if after <= before else start
