# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Neighbour graph of tracks, whose edges are bound where the flow agrees."""

import math
from typing import NamedTuple

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.neighbours import connected, nearest_neighbours, symmetric_rows
from gdm_motion_seg.segmentation.constants import (
    BOND_PX, BOND_SHARE, BOND_SLOPE, LIKE, NEIGHBOURS, REACH)


class Graph(NamedTuple):
    """Symmetric neighbour graph in CSR form."""

    first: IntArray
    """(N + 1,) row pointers into ``neighbour`` and ``bond``."""
    neighbour: IntArray
    """(E,) columns: every edge stands in both rows."""
    bond: FloatArray
    """(E,) weight of the edge in the smoothness term: 1 where the flow agrees."""
    like: float = LIKE
    """Least bond of neighbours on one body."""

    @property
    def row(self) -> IntArray:
        """Return the row of every edge."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def groups(self, member: Mask, least_bond: float = LIKE) -> IntArray:
        """Return the first member of each member's group that strong bonds connect, or -1."""
        return connected(self.first, self.neighbour, self.bond >= least_bond, member)


def image_graph(x: FloatArray, flow: FloatArray, width: float) -> Graph:
    """
    Connect each track to its nearest neighbours in the newest image.

    In the image, not in (x, x'): the neighbours of an occlusion boundary in (x, x') are those that
    move alike, so that a boundary would cost nothing there.
    """
    return neighbour_graph(nearest_neighbours(x, NEIGHBOURS, REACH * width), x, flow, BOND_SHARE)


def neighbour_graph(near: IntArray, x: FloatArray, flow: FloatArray, share: float) -> Graph:
    """
    Connect points with the neighbours that are listed for them.

    Parameters
    ----------
    near : (N, M) array
        Neighbours of each point; N stands for none, and the point itself is left out.
    x, flow : (N, 2) arrays
        Positions and flow, in pixels.
    share : float
        Difference of flow that is like flow, per pixel of flow.

    """
    first, neighbour = symmetric_rows(np.ascontiguousarray(near, np.int64))
    # Constants of other modules are handed in: a kernel keeps those that it was compiled with.
    return Graph(first, neighbour, flow_bonds(first, neighbour, np.hstack([x, flow]),
                                              (BOND_PX, BOND_SLOPE, share)))


@kernel
def flow_bonds(first: IntArray, neighbour: IntArray, points: FloatArray,
               scale: tuple[float, float, float]) -> FloatArray:
    """Return the bond of every edge; ``points`` (N, 4) are x, y and flow."""
    bonds = np.empty(len(neighbour))
    for i in range(len(first) - 1):
        for e in range(first[i], first[i + 1]):
            j = neighbour[e]
            dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            du, dv = points[i, 2] - points[j, 2], points[i, 3] - points[j, 3]
            # The slower of both: a wrong match is fast, and binds nobody.
            speed = math.sqrt(min(points[i, 2] ** 2 + points[i, 3] ** 2,
                                  points[j, 2] ** 2 + points[j, 3] ** 2))
            distance = math.sqrt(dx * dx + dy * dy)
            bonds[e] = math.exp(-math.sqrt(du * du + dv * dv)
                                / (scale[0] + scale[1] * distance + scale[2] * speed))
    return bonds
