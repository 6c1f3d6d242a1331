# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sequential robust estimation: one estimator, applied repeatedly to the remaining points."""

from collections.abc import Callable

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg_tools.bench.methods.base import Prediction
from gdm_motion_seg_tools.datasets.pair import LabelledPair

MIN_INLIERS = 12
"""Smallest number of points of a motion: by chance an F has eight to ten inliers."""
MIN_SHARE = 0.08
"""
The same as a share of all points, if the number of motions is unknown.

Without it, wrong matches that agree by chance become motions. It is the best value from 0 to 0.2
on a sample of the three real data sets.
"""
MAX_MOTIONS = 6
"""Largest number of motions, if it is unknown."""

Estimator = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray | None]
"""Returns the F of the best single motion of two views; None if there is none."""


def segment_sequentially(estimate: Estimator, threshold: float, pair: LabelledPair,
                         n_motions: int, rng: np.random.Generator) -> Prediction:
    """
    Find motions one by one and remove their inliers; then assign every point to the nearest.

    A point whose Sampson distance to every motion exceeds the threshold is an outlier.
    """
    left = np.arange(len(pair))
    least = MIN_INLIERS if n_motions else max(MIN_INLIERS, round(MIN_SHARE * len(pair)))
    found: list[FloatArray] = []
    while len(left) >= least and len(found) < (n_motions or MAX_MOTIONS):
        f = estimate(pair.x1[left], pair.x2[left], rng)
        if f is None:
            break
        inlier = sampson_distances(f, pair.x1[left], pair.x2[left]) <= threshold
        if inlier.sum() < least:
            break
        found.append(f)
        left = left[~inlier]
    if not found:
        return Prediction(np.full(len(pair), -1, np.int64), np.full(len(pair), np.inf))
    fundamentals = np.array(found)
    distances = sampson_distances(fundamentals, pair.x1, pair.x2)
    nearest = distances.min(axis=0)
    labels = np.where(nearest <= threshold, distances.argmin(axis=0), -1)
    return Prediction(labels.astype(np.int64), nearest, fundamentals)
