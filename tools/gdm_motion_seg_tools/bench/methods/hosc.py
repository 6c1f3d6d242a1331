# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Higher Order Spectral Clustering (Arias-Castro, Chen, Lerman, EJS 2011).

The affinity of d + 2 neighbouring points is high if they lie near a d-dimensional flat. The
affinity of two points is the sum over all tuples of nearest neighbours that contain both.
"""

from functools import partial
from itertools import combinations

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.flats import nearest_neighbours
from gdm_motion_seg_tools.bench.methods.spectral import (
    embedded, k_means, leading_eigenvectors, row_normalised)
from gdm_motion_seg_tools.datasets.pair import LabelledPair

NEIGHBOURS = 20
"""knn of the paper's experiments."""
SCALES = tuple(np.geomspace(1e-4, 0.1, 7))
"""eta is chosen from this range, as in the paper; coordinates are scaled to [-1, 1]."""
OUTLIER_SHARE = 0.11
"""alpha of the paper's experiments: a point with less than this share of the largest degree."""
TUPLES_AT_ONCE = 200_000
"""Number of tuples that are processed together, to limit memory."""


def segment(d: int, reject: bool, pair: LabelledPair, n_motions: int, rng: np.random.Generator,
            ) -> Prediction:
    """Cluster a pair in R^4, at the scale that gives the tightest clusters."""
    points = embedded(pair, 'linear', normalised=True)
    affinities = tuple_affinities(points, d)
    best = Prediction(np.zeros(len(points), np.int64))
    tightest = np.inf
    for affinity in affinities:
        degree = affinity.sum(axis=1)
        kept = degree >= (OUTLIER_SHARE * degree.max() if reject else 0.0)
        if kept.sum() < n_motions:
            continue
        labels = np.full(len(points), -1, np.int64)
        labels[kept], spread = _cluster(affinity[np.ix_(kept, kept)], n_motions, rng)
        if spread < tightest:
            tightest, best = spread, Prediction(labels, -degree if reject else None)
    return best


def tuple_affinities(points: FloatArray, d: int) -> list[FloatArray]:
    """
    Sum the affinities of the tuples around every point, for each scale eta.

    A tuple is a point and d + 1 of its nearest neighbours; its affinity is exp(-r^2 / eta^2) with
    the distance r of the tuple from its best flat.
    """
    n = len(points)
    count = min(NEIGHBOURS, n - 1)
    order, _ = nearest_neighbours(points, np.arange(n), count + 1)
    chosen = np.array(list(combinations(range(1, count + 1), d + 1)))
    sums = np.zeros((len(SCALES), n * n))
    step = max(TUPLES_AT_ONCE // max(len(chosen), 1), 1)
    for first in range(0, n, step):
        own = order[first:first + step]
        tuples = np.concatenate([np.repeat(own[:, :1, None], len(chosen), axis=1),
                                 own[:, chosen]], axis=2).reshape(-1, d + 2)
        squares = flat_residuals(points, tuples, d)
        weights = [np.exp(-squares / scale ** 2) for scale in SCALES]
        for a, b in combinations(range(d + 2), 2):
            place = tuples[:, a] * n + tuples[:, b]
            for total, weight in zip(sums, weights):
                total += np.bincount(place, weight, minlength=n * n)
    return [np.asarray(total + total.T) for total in sums.reshape(-1, n, n)]


def flat_residuals(points: FloatArray, tuples: IntArray, d: int) -> FloatArray:
    """Return the mean squared distance of d + 2 points from their best d-dimensional flat."""
    corners = points[tuples]
    corners = corners - corners.mean(axis=1, keepdims=True)
    # d + 2 centred points span d + 1 directions; the last of these is off the flat.
    gram = corners @ np.swapaxes(corners, 1, 2)
    values = np.linalg.eigvalsh(gram)
    return np.asarray(np.maximum(values[:, 1], 0.0) / tuples.shape[1])


def _cluster(affinity: FloatArray, n_motions: int, rng: np.random.Generator,
             ) -> tuple[IntArray, float]:
    """Cluster by the normalised cut; returns labels and distances of rows from their centres."""
    root = 1.0 / np.sqrt(np.maximum(affinity.sum(axis=1), np.finfo(float).tiny))
    vectors = leading_eigenvectors(root[:, None] * affinity * root, n_motions)[1]
    rows = row_normalised(vectors)
    labels = k_means(rows, n_motions, rng, n_init=3)
    spread = sum(float(((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum())
                 for k in np.unique(labels))
    return labels, spread / len(rows)


def _method(name: str, d: int, reject: bool, note: str) -> Method:
    return Method(name, partial(segment, d, reject), rejects_outliers=reject, default=False,
                  warm_up=False, note=note,
                  sources=('gdm_motion_seg_tools.bench.methods.flats',
                           'gdm_motion_seg_tools.bench.methods.hosc',
                           'gdm_motion_seg_tools.bench.methods.spectral'))


METHODS = (_method('hosc-2', 2, False, 'd = 2, 20 neighbours'),
           _method('hosc-3', 3, False, 'd = 3, 20 neighbours'),
           _method('hosc-outliers', 2, True, 'd = 2, 20 neighbours, alpha 0.11'))
