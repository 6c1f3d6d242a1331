# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
REF (Tron, Vidal, CVPR 2007): a reference that uses the ground truth.

It fits the best linear model to each true cluster of embedded points, and assigns every point to
the model that fits it best.
"""

import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.datasets.pair import LabelledPair

DEVIATIONS = 3.0
"""A point is an outlier beyond mu + r sigma of its motion's true members, r as in the paper."""


def segment(pair: LabelledPair, n_motions: int, rng: np.random.Generator) -> Prediction:
    """Fit models to the true labels and assign the points."""
    vectors = embed(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))
    motions = np.unique(pair.truth[pair.truth >= 0])
    if not len(motions):
        return Prediction(np.full(len(pair), -1, np.int64))
    ratios = []
    distances = []
    for k in motions:
        members = pair.truth == k
        normal = np.linalg.eigh(vectors[members].T @ vectors[members])[1][:, 0]
        distance = np.abs(vectors @ normal)
        limit = distance[members].mean() + DEVIATIONS * distance[members].std()
        distances.append(distance)
        ratios.append(distance / max(float(limit), 1e-12))
    labels = np.argmin(distances, axis=0)
    scores = np.take_along_axis(np.array(ratios), labels[None], axis=0)[0]
    if (pair.truth < 0).any():
        labels = np.where(scores > 1.0, -1, labels)
    return Prediction(labels.astype(np.int64), scores)


METHODS = (
    Method('ref', segment, uses_truth=True, note='a reference that uses the ground truth',
           sources=('gdm_motion_seg.geometry',)),
)
