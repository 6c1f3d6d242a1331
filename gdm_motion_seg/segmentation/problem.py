# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pair of frames, put into the form in which its motions are searched."""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import kronecker_embedding, normalize_image_points
from gdm_motion_seg.segmentation.constants import (
    FLOW_CONTRAST, NEIGHBOURS, NOISE_OF_FLOW, NOISE_PX)

POOL = 60
"""Nearest points of each from which samples are drawn."""
SHORTEST_PX = 5.0
"""Added to the distance of neighbours, so that noise does not part very near ones."""


class Problem(NamedTuple):
    """What the compiled search sees of a pair: plain arrays."""

    rays: FloatArray
    """(4, N) rays of both frames at depth 1: x, y of the older one, x, y of the newer one."""
    precision: FloatArray
    """(N,) 1 / s^2 of the noise s, in the unit of the rays."""
    vectors: FloatArray
    """(9, N) Kronecker embedding of the image-normalised points."""
    places: FloatArray
    """(6, N) the same of the newer positions with themselves, without the repeated products."""
    first: IntArray
    """(N + 1,) CSR row pointers into ``neighbour`` and ``bond``."""
    neighbour: IntArray
    """(E,) every edge of the symmetric neighbour graph, from both ends."""
    bond: FloatArray
    """(E,) its weight in [0, 1]: near 1 where the flow agrees."""
    near: IntArray
    """(N, M) the nearest points of each, itself first."""


def pose_problem(correspondences: Correspondences, camera: Camera | None = None) -> Problem:
    """Normalise, embed and connect the points of a pair."""
    c = correspondences
    n = len(c)
    k = (camera or Camera.guess(c.image_size)).matrix
    focal, centre = np.array([k[0, 0], k[1, 1]]), k[:2, 2]
    flow = c.x2 - c.x1
    variance = NOISE_PX ** 2 + NOISE_OF_FLOW ** 2 * (flow ** 2).sum(axis=1)
    z1, z2 = (normalize_image_points(x, c.image_size) for x in (c.x1, c.x2))
    x, y = z2.T
    root = np.sqrt(2.0)
    n_near = min(POOL + 1, n)
    joint = np.hstack([c.x1, c.x2])
    near = cKDTree(joint).query(joint, k=n_near)[1].reshape(n, n_near)
    first, neighbour, bond = _neighbour_graph(c.x2, flow, near[:, 1:NEIGHBOURS + 1])
    return Problem(
        rays=np.ascontiguousarray(np.hstack([(c.x1 - centre) / focal, (c.x2 - centre) / focal]).T),
        precision=focal.mean() ** 2 / variance,
        vectors=np.ascontiguousarray(kronecker_embedding(z1, z2).T),
        places=np.stack([np.ones(n), root * x, root * y, x * x, root * x * y, y * y]),
        first=first, neighbour=neighbour, bond=bond, near=np.ascontiguousarray(near))


def _neighbour_graph(x: FloatArray, flow: FloatArray,
                     near: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Make the graph symmetric and weigh each edge by the agreement of the flow."""
    n = len(x)
    one, other = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    # Of an edge that both ends name, the one from the lower end stays.
    mutual = (near[other] == one[:, None]).any(axis=1)
    once = (one != other) & ((one < other) | ~mutual)
    a, b = one[once], other[once]
    distance = np.linalg.norm(x[a] - x[b], axis=1)
    difference = np.linalg.norm(flow[a] - flow[b], axis=1)
    weight = np.exp(-difference / (FLOW_CONTRAST * (distance + SHORTEST_PX)))
    start, end = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(start, kind='stable')
    first = np.searchsorted(start[order], np.arange(n + 1))
    return first.astype(np.int64), end[order], np.concatenate([weight, weight])[order]
