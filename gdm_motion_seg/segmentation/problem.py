# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pair of frames, put into the form in which its motions are searched."""

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed, places
from gdm_motion_seg.segmentation.constants import (
    FIT_FLOW_VARIANCE, NEIGHBOURS, POINT_VARIANCE, POOL)
from gdm_motion_seg.segmentation.energy import Problem
from gdm_motion_seg.segmentation.graph import neighbour_graph


def pose_problem(correspondences: Correspondences, camera: Camera | None = None) -> Problem:
    """Normalise, embed and connect the points of a pair."""
    c = correspondences
    n = len(c)
    k = (camera or Camera.guess(c.image_size)).matrix
    focal, centre = np.array([k[0, 0], k[1, 1]]), k[:2, 2]
    flow = c.x2 - c.x1
    # The Sampson distance is shared by both frames: half of the displacement's variance.
    variance = 0.5 * (POINT_VARIANCE + FIT_FLOW_VARIANCE * (flow ** 2).sum(axis=1))
    n_near = min(POOL + 1, n)
    joint = np.hstack([c.x1, c.x2])
    near = cKDTree(joint).query(joint, k=n_near)[1].reshape(n, n_near)
    return Problem(
        rays=np.ascontiguousarray(np.hstack([(c.x1 - centre) / focal, (c.x2 - centre) / focal]).T),
        precision=focal.mean() ** 2 / variance,
        vectors=np.ascontiguousarray(embed(c).T),
        places=places(c),
        graph=neighbour_graph(near[:, 1:NEIGHBOURS + 1], c.x2, flow),
        near=np.ascontiguousarray(near))
