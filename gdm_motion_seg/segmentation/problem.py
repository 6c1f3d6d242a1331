# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pair of frames, put into the form in which its motions are searched."""

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed, places
from gdm_motion_seg.geometry.static_world import ray_tracks
from gdm_motion_seg.segmentation.constants import NEIGHBOURS
from gdm_motion_seg.segmentation.energy import Problem
from gdm_motion_seg.segmentation.graph import neighbour_graph
from gdm_motion_seg.segmentation.proposals import flow_clusters


def pose_problem(correspondences: Correspondences, camera: Camera | None = None) -> Problem:
    """Normalise, embed and connect the points of a pair."""
    c = correspondences
    tracks = ray_tracks(c.x1, c.x2, np.zeros((len(c), 3)), camera or Camera.guess(c.image_size))
    joint = np.hstack([c.x1, c.x2])
    near = cKDTree(joint).query(joint, k=min(NEIGHBOURS + 1, len(c)))[1].reshape(len(c), -1)
    graph = neighbour_graph(near, c.x2, c.x2 - c.x1, 0.0)
    return Problem(
        rays=tracks.rays,
        # The Sampson distance is shared by both frames: half of the displacement's variance.
        precision=2.0 * tracks.focal ** 2 / tracks.strict,
        vectors=np.ascontiguousarray(embed(c).T), places=places(c), graph=graph,
        blocks=flow_clusters(graph))
