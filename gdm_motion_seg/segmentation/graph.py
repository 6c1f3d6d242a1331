# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Neighbours in the image and connected groups of tracks with like flow."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.segmentation.constants import (
    LIKE_PX, LIKE_SHARE, LIKE_SLOPE, NEIGHBOURS, REACH)

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Graph:
    """Symmetric neighbour graph of tracks in CSR form."""

    first: IntArray
    """(N + 1,) row pointers into ``neighbour`` and ``contrast``."""
    neighbour: IntArray
    """(E,) columns: every edge stands in both rows."""
    contrast: FloatArray
    """(E,) difference of flow over what one body allows: below 1 the two flows are alike."""

    def groups(self, member: Mask) -> IntArray:
        """Return the numbers of connected groups of members with like flow; -1 elsewhere."""
        row = np.repeat(np.arange(len(member)), np.diff(self.first))
        link = member[row] & member[self.neighbour] & (self.contrast < 1.0)
        counts = np.concatenate([[0], np.cumsum(link)])[self.first]
        links = csr_array((np.ones(int(counts[-1]), np.int8), self.neighbour[link], counts),
                          shape=(len(member), len(member)))
        _, group = connected_components(links, directed=False)
        return np.where(member, group, -1)


def image_graph(x: FloatArray, flow: FloatArray, width: float) -> Graph:
    """
    Connect each track to its nearest neighbours in the newest image.

    In the image, not in (x, x'): the neighbours of an occlusion boundary in (x, x') are those that
    move alike, so that a boundary would cost nothing there.
    """
    n = len(x)
    distance, near = cKDTree(x).query(x, k=min(NEIGHBOURS + 1, n),
                                      distance_upper_bound=REACH * width)
    one = np.repeat(np.arange(n), near.shape[1] if near.ndim == 2 else 1)
    other, distance = near.ravel(), distance.ravel()
    real = (other < n) & (other != one)
    one, other, distance = one[real], other[real], distance[real]
    # An edge that both ends name is taken once.
    key = np.minimum(one, other) * n + np.maximum(one, other)
    _, once = np.unique(key, return_index=True)
    a, b, distance = one[once], other[once], distance[once]
    difference = np.linalg.norm(flow[a] - flow[b], axis=1)
    speed = np.linalg.norm(flow[a] + flow[b], axis=1) / 2.0
    contrast = difference / (LIKE_PX + LIKE_SLOPE * distance + LIKE_SHARE * speed)
    start, end = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(start, kind='stable')
    first = np.searchsorted(start[order], np.arange(n + 1)).astype(np.int64)
    return Graph(first, end[order], np.concatenate([contrast, contrast])[order])
