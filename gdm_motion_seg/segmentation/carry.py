# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The last partition on the next pair, where it still holds: no search, only geometry."""

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg.geometry.homography import homography_distances
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.motion import estimate_motion
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation, OUTLIER

FEWEST_POINTS = 8
"""A motion with fewer points is not carried over."""
STAY = 2.0
"""A track stays with its motion up to this many thresholds from it, so that noise moves none."""
JOIN = 1.0
"""A track joins another motion up to this many."""
HOLDS = 0.7
"""Share of a motion's tracks that must stay for the partition to hold."""
NEIGHBOURS = 6
"""Tracks around a new one that tell to which of the motions that it fits it belongs."""


def carry_over(c: Correspondences, last: IntArray, config: SegmentationConfig,
               camera: Camera | None = None) -> MotionSegmentation | None:
    """
    Estimate the motions of a known partition on a new pair, and place the points by them.

    Parameters
    ----------
    c : Correspondences
        The new pair.
    last : (N,) array of int
        The label of each track in the last answer, negative where there is none.
    config : SegmentationConfig
        Its kappa_px and the settings of the dimension are used.
    camera : Camera, optional
        Its matrix, where it is known.

    Returns
    -------
    MotionSegmentation or None
        None where the partition does not hold any more and has to be searched.

    """
    counts = np.bincount(last[last >= 0])
    if not len(counts) or counts.min() < FEWEST_POINTS:
        return None
    motions = tuple(estimate_motion(c, np.flatnonzero(last == k), k, config.kappa_px,
                                    config.gdm.epsilon, camera) for k in range(len(counts)))
    distances = np.stack([distances_to(motion, c) for motion in motions])
    relative = distances / np.array([[motion.threshold] for motion in motions])
    labels = _placed(c, last, relative)
    if (np.bincount(labels[(labels == last) & (last >= 0)], minlength=len(counts))
            < HOLDS * counts).any():
        return None
    index = np.arange(len(c))
    residuals = np.where(labels >= 0, distances[labels, index], distances.min(axis=0))
    return MotionSegmentation(labels, motions, residuals, _margins(labels, relative),
                              global_dimension=_global_dimension(motions, config.gdm.p))


def distances_to(motion: Motion, c: Correspondences) -> FloatArray:
    """Distances of points to a motion: to its homography if it has one, else to its F."""
    if np.isfinite(motion.homography).all():
        return homography_distances(motion.homography, c.x1, c.x2)
    if np.isfinite(motion.fundamental).all():
        return sampson_distances(motion.fundamental, c.x1, c.x2)
    return np.full(len(c), np.inf)


def _placed(c: Correspondences, last: IntArray, relative: FloatArray) -> IntArray:
    """Leave every track where it fits, and let the others join what they and their place fit."""
    index = np.arange(len(c))
    stays = relative[np.maximum(last, 0), index] <= STAY
    labels = np.where((last >= 0) & stays, last, OUTLIER)
    homeless = np.flatnonzero(labels == OUTLIER)
    settled = np.flatnonzero(labels != OUTLIER)
    if not len(homeless) or not len(settled):
        return labels
    near = cKDTree(c.x2[settled]).query(c.x2[homeless], k=min(NEIGHBOURS, len(settled)))[1]
    around = labels[settled[near.reshape(len(homeless), -1)]]
    fits = relative[:, homeless] <= JOIN
    votes = np.stack([(around == k).sum(axis=1) for k in range(len(relative))])
    # Where no neighbour helps, the nearer motion decides.
    score = np.where(fits, votes + 1.0 / (1.0 + relative[:, homeless]), -1.0)
    labels[homeless] = np.where(fits.any(axis=0), score.argmax(axis=0), OUTLIER)
    return labels


def _margins(labels: IntArray, relative: FloatArray) -> FloatArray:
    """Tell in [0, 1] how much better a point fits its own motion than the next best."""
    index = np.arange(len(labels))
    rival = relative.copy()
    mine = np.where(labels >= 0, relative[labels, index], 1.0)
    rival[labels[labels >= 0], index[labels >= 0]] = np.inf
    return np.asarray(1.0 - np.exp(-np.maximum(rival.min(axis=0) - mine, 0.0)))


def _global_dimension(motions: tuple[Motion, ...], p: float) -> float:
    """Compute the p-norm of the motions' empirical dimensions (the paper's GD)."""
    dimensions = np.array([motion.dimension for motion in motions])
    largest = float(dimensions.max())
    return largest * float(np.sum((dimensions / largest) ** p) ** (1.0 / p))
