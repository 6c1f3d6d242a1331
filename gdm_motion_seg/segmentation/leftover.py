# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions among the points that an answer leaves unexplained."""

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.segmentation.carry import distances_to, STAY
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.motion import estimate_motion
from gdm_motion_seg.segmentation.result import MotionSegmentation

FEWEST_POINTS = 12
"""Fewer unexplained points beside each other are no motion."""
REACH = 0.06
"""Points of one body are nearer to each other than this share of the longer image side."""
AS_ONE = 0.75
"""Share of the points that one motion must explain."""


def with_leftovers(c: Correspondences, answer: MotionSegmentation, config: SegmentationConfig,
                   camera: Camera | None = None) -> MotionSegmentation:
    """
    Add motions that explain what the answer's own motions plainly do not.

    A small body is cheap to swallow for an energy over all points; its residuals tell. Groups of
    unexplained points that lie together and move as one become motions of their own.
    """
    room = (config.n_motions or config.max_motions) - answer.n_motions
    if answer.n_motions == 0 or room <= 0:
        return answer
    limits = np.array([STAY * motion.threshold for motion in answer.motions] + [-np.inf])
    left = np.flatnonzero(answer.residuals > limits[answer.labels])
    labels, residuals, motions = answer.labels.copy(), answer.residuals.copy(), answer.motions
    for group in _groups(c, left)[:room]:
        motion = estimate_motion(c, group, len(motions), config.kappa_px, config.gdm.epsilon,
                                 camera)
        distances = distances_to(motion, c.take(group))
        own = distances <= motion.threshold
        if own.sum() < max(FEWEST_POINTS, AS_ONE * len(group)):
            continue
        labels[group[own]] = len(motions)
        residuals[group[own]] = distances[own]
        motions = (*motions, replace(motion, members=group[own]))
    if len(motions) == answer.n_motions:
        return answer
    members = [np.flatnonzero(labels == k) for k in range(len(motions))]
    return replace(answer, labels=labels, residuals=residuals, motions=tuple(
        replace(motion, members=index) for motion, index in zip(motions, members)))


def _groups(c: Correspondences, index: IntArray) -> list[IntArray]:
    """Return sets of points that hang together in both frames, the largest first."""
    if len(index) < FEWEST_POINTS:
        return []
    joint = np.hstack([c.x1[index], c.x2[index]])
    pairs = cKDTree(joint).query_pairs(REACH * max(c.image_size), output_type='ndarray')
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), (len(index), len(index)))
    _, part = connected_components(graph, directed=False)
    counts = np.bincount(part)
    wanted = np.flatnonzero(counts >= FEWEST_POINTS)
    order = wanted[np.argsort(-counts[wanted], kind='stable')]
    return [index[part == k] for k in order]
