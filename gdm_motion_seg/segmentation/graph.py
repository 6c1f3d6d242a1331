# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Neighbour graph of tracks, and connected groups of tracks with like flow."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.segmentation.constants import (
    BOND_PX, BOND_SLOPE, LIKE_PX, LIKE_SHARE, LIKE_SLOPE, NEIGHBOURS, REACH)

Mask = npt.NDArray[np.bool_]


class Graph(NamedTuple):
    """Symmetric neighbour graph in CSR form."""

    first: IntArray
    """(N + 1,) row pointers into ``neighbour``, ``contrast`` and ``bond``."""
    neighbour: IntArray
    """(E,) columns: every edge stands in both rows."""
    contrast: FloatArray
    """(E,) difference of flow over what one body allows: below 1 the two flows are alike."""
    bond: FloatArray
    """(E,) weight of the edge in the smoothness term: 1 where the flow agrees."""

    @property
    def row(self) -> IntArray:
        """Return the row of every edge."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def groups(self, member: Mask, least_bond: float = 0.0) -> IntArray:
        """
        Return the number of the group of each member that edges of like flow connect; else -1.

        Flow is alike where the contrast is below 1, or where the bond is at least ``least_bond``
        if that is given.
        """
        n, row = len(member), self.row
        used = member[row] & member[self.neighbour]
        used &= self.bond >= least_bond if least_bond else self.contrast < 1.0
        edges = csr_matrix((np.ones(used.sum()), (row[used], self.neighbour[used])), (n, n))
        return np.where(member, connected_components(edges, directed=False)[1], -1)


def image_graph(x: FloatArray, flow: FloatArray, width: float) -> Graph:
    """
    Connect each track to its nearest neighbours in the newest image.

    In the image, not in (x, x'): the neighbours of an occlusion boundary in (x, x') are those that
    move alike, so that a boundary would cost nothing there.
    """
    near = cKDTree(x).query(x, k=min(NEIGHBOURS + 1, len(x)),
                            distance_upper_bound=REACH * width)[1]
    return neighbour_graph(near.reshape(len(x), -1), x, flow)


def neighbour_graph(near: IntArray, x: FloatArray, flow: FloatArray) -> Graph:
    """
    Connect points with the neighbours that are listed for them.

    Parameters
    ----------
    near : (N, M) array
        Neighbours of each point; N stands for none, and the point itself is left out.
    x, flow : (N, 2) arrays
        Positions and flow, in pixels.

    """
    first, b = symmetric_rows(np.ascontiguousarray(near, np.int64))
    # Constants of other modules are handed in: a kernel keeps those that it was compiled with.
    return Graph(first, b, *edge_weights(first, b, np.hstack([x, flow]),
                                         (LIKE_PX, LIKE_SLOPE, LIKE_SHARE),
                                         (BOND_PX, BOND_SLOPE)))


@kernel
def edge_weights(first: IntArray, neighbour: IntArray, points: FloatArray,
                 like: tuple[float, float, float],
                 bond: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Return the contrast and the bond of every edge; ``points`` (N, 4) are x, y and flow."""
    contrasts, bonds = np.empty(len(neighbour)), np.empty(len(neighbour))
    for i in range(len(first) - 1):
        for e in range(first[i], first[i + 1]):
            j = neighbour[e]
            dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            du, dv = points[i, 2] - points[j, 2], points[i, 3] - points[j, 3]
            su, sv = points[i, 2] + points[j, 2], points[i, 3] + points[j, 3]
            distance, difference = math.sqrt(dx * dx + dy * dy), math.sqrt(du * du + dv * dv)
            speed = 0.5 * math.sqrt(su * su + sv * sv)
            contrasts[e] = difference / (like[0] + like[1] * distance + like[2] * speed)
            bonds[e] = math.exp(-difference / (bond[0] + bond[1] * distance))
    return contrasts, bonds


@kernel
def symmetric_rows(near: IntArray) -> tuple[IntArray, IntArray]:
    """
    Return the CSR form of a symmetric graph: an edge is there if one end names the other.

    By hand, because scipy takes 1 ms of every frame for it.
    """
    n, most = near.shape
    first, named = np.zeros(n + 1, np.int64), np.zeros((n, most), np.bool_)
    for i in range(n):
        for c in range(most):
            j = near[i, c]
            if j < n and j != i:
                mutual = False
                for other in near[j]:
                    mutual = mutual or other == i
                # An edge that both ends name is taken once.
                if j > i or not mutual:
                    named[i, c] = True
                    first[i + 1] += 1
                    first[j + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    end, neighbour = first.copy(), np.empty(first[n], np.int64)
    for i in range(n):
        for c in range(most):
            if named[i, c]:
                j = near[i, c]
                neighbour[end[i]], neighbour[end[j]] = j, i
                end[i] += 1
                end[j] += 1
    return first, neighbour
