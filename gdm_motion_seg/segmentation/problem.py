# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pair of frames, put into the form in which its motions are searched."""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.geometry.embedding import embed

NOISE_PX = 0.2
"""Standard deviation of a tracked point that hardly moves."""
NOISE_OF_FLOW = 0.005
"""What every pixel of flow adds to it: patches change as they move, and no lens is a pinhole."""
NEIGHBOURS = 8
"""Neighbours of a point, in (x, x'), with which it likes to share its motion."""
POOL = 60
"""Neighbours from which the points of a proposal are drawn, at most."""
SMALL_POOL = 25
"""The same where a partition is known and proposals are only made for small new motions."""
FLOW_CONTRAST = 0.3
"""Flow difference, over the distance, at which two neighbours are bound by 1 / e only."""
CONTRAST_FLOOR_PX = 5.0
"""Distance that is added in that, so that noise does not part very near neighbours."""


class Problem(NamedTuple):
    """What the compiled search sees of a pair: plain arrays."""

    y1: FloatArray
    """(N, 2) rays of the older frame, at depth 1."""
    y2: FloatArray
    """(N, 2) rays of the newer frame."""
    precision: FloatArray
    """(N,) 1 / s^2 of the noise s, in the unit of the rays."""
    vectors: FloatArray
    """(N, 9) Kronecker embedding of the image-normalised points."""
    first: IntArray
    """(N + 1,) where the neighbours of each point begin in the next two."""
    neighbour: IntArray
    """(E,) every edge of the symmetric neighbour graph, from both ends."""
    bond: FloatArray
    """(E,) its weight in [0, 1]: near 1 where the flow agrees."""
    pool: IntArray
    """(N, M) the nearest points of each, itself first."""
    coding: FloatArray
    """(N,) what it costs to code one more label of a motion that has 0, 1, ... points already."""
    inliers: float
    """How many points may follow a motion at all: N until the search knows better."""


def pose_problem(correspondences: Correspondences, camera: Camera | None = None,
                 pool: int = POOL) -> Problem:
    """Normalise, embed and connect the points of a pair."""
    c = correspondences
    k = (camera or Camera.guess(c.image_size)).matrix
    focal, centre = np.array([k[0, 0], k[1, 1]]), k[:2, 2]
    flow = c.x2 - c.x1
    variance = NOISE_PX ** 2 + NOISE_OF_FLOW ** 2 * (flow ** 2).sum(axis=1)
    joint = np.hstack([c.x1, c.x2])
    n_near = min(pool + 1, len(c))
    near = cKDTree(joint).query(joint, k=n_near)[1].reshape(len(c), n_near)
    first, neighbour, bond = _neighbour_graph(c.x1, flow, near[:, 1:NEIGHBOURS + 1])
    return Problem(
        y1=np.ascontiguousarray((c.x1 - centre) / focal),
        y2=np.ascontiguousarray((c.x2 - centre) / focal),
        precision=focal.mean() ** 2 / variance, vectors=np.ascontiguousarray(embed(c)),
        first=first, neighbour=neighbour, bond=bond, pool=np.ascontiguousarray(near),
        coding=_coding_steps(len(c)), inliers=float(len(c)))


def _coding_steps(n: int) -> FloatArray:
    """Return the differences of -m log(m / N) over m = 0, 1, ..., N."""
    m = np.arange(1, n + 1)
    return np.diff(-m * np.log(m / n), prepend=0.0)


def _neighbour_graph(x1: FloatArray, flow: FloatArray,
                     near: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Make the graph symmetric and weigh each edge by the agreement of the flow."""
    n = len(x1)
    one, other = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    # Of an edge that both ends name, the one from the lower end stays.
    mutual = (near[other] == one[:, None]).any(axis=1)
    once = (one != other) & ((one < other) | ~mutual)
    a, b = one[once], other[once]
    distance = np.linalg.norm(x1[a] - x1[b], axis=1)
    difference = np.linalg.norm(flow[a] - flow[b], axis=1)
    weight = np.exp(-difference / (FLOW_CONTRAST * (distance + CONTRAST_FLOOR_PX)))
    start, end = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(start, kind='stable')
    first = np.searchsorted(start[order], np.arange(n + 1))
    return first.astype(np.int64), end[order], np.concatenate([weight, weight])[order]
