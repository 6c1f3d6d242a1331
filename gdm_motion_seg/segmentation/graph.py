# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Neighbours in the image and connected groups of tracks with like flow."""

from dataclasses import dataclass
import math

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from gdm_motion_seg.compilation import kernel
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
        return connected_groups(self.first, self.neighbour, self.contrast, member)


def image_graph(x: FloatArray, flow: FloatArray, width: float) -> Graph:
    """
    Connect each track to its nearest neighbours in the newest image.

    In the image, not in (x, x'): the neighbours of an occlusion boundary in (x, x') are those that
    move alike, so that a boundary would cost nothing there.
    """
    n = len(x)
    distance, near = cKDTree(x).query(x, k=min(NEIGHBOURS + 1, n),
                                      distance_upper_bound=REACH * width)
    # Numbers of other modules are handed in: a kernel keeps those that it was compiled with.
    return Graph(*symmetric_rows(near.reshape(n, -1), distance.reshape(n, -1),
                                 np.ascontiguousarray(flow), (LIKE_PX, LIKE_SLOPE, LIKE_SHARE)))


@kernel
def symmetric_rows(near: IntArray, distance: FloatArray, flow: FloatArray,
                   like: tuple[float, float, float]) -> tuple[IntArray, IntArray, FloatArray]:
    """
    Build a symmetric graph in CSR form from lists of neighbours.

    Parameters
    ----------
    near, distance : (N, K) arrays
        Neighbours of each point and how far they are; N stands for none.
    flow : (N, 2) array
        Flow of the points.
    like : (px, per px of distance, share of the speed)
        Difference of flow that one body allows.

    Returns
    -------
    first, neighbour, contrast : arrays
        As in :class:`Graph`.

    """
    n, most = near.shape
    # An edge that both ends name is taken once, from the one that comes first.
    taken, first, own = np.zeros((n, most), np.bool_), np.zeros(n + 1, np.int64), np.zeros(
        n, np.int64)
    for i in range(n):
        for c in range(most):
            j = near[i, c]
            if j < n and j != i and (i < j or not _holds(near[j], i)):
                taken[i, c] = True
                own[i] += 1
                first[i + 1] += 1
                first[j + 1] += 1
    first = np.cumsum(first)
    neighbour, contrast = np.empty(first[n], np.int64), np.empty(first[n])
    end = first[:-1].copy()
    for i in range(n):
        for c in range(most):
            if taken[i, c]:
                j = near[i, c]
                value = _contrast(flow[i], flow[j], distance[i, c], like)
                at = end[i]
                # Insertion sort: rows are short.
                while at > first[i] and j < neighbour[at - 1]:
                    neighbour[at], contrast[at] = neighbour[at - 1], contrast[at - 1]
                    at -= 1
                neighbour[at], contrast[at] = j, value
                end[i] += 1
    for i in range(n):
        for e in range(first[i], first[i] + own[i]):
            j = neighbour[e]
            neighbour[end[j]], contrast[end[j]] = i, contrast[e]
            end[j] += 1
    return first, neighbour, contrast


@kernel
def _contrast(one: FloatArray, other: FloatArray, distance: float,
              like: tuple[float, float, float]) -> float:
    """Return the difference of two flows over what one body allows."""
    difference = math.sqrt((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2)
    speed = math.sqrt((one[0] + other[0]) ** 2 + (one[1] + other[1]) ** 2) / 2.0
    return difference / (like[0] + like[1] * distance + like[2] * speed)


@kernel
def _holds(values: IntArray, value: int) -> bool:
    for v in values:
        if v == value:
            return True
    return False


@kernel
def connected_groups(first: IntArray, neighbour: IntArray, contrast: FloatArray, member: Mask
                     ) -> IntArray:
    """Return the group of each member, numbered by their first points; -1 elsewhere."""
    n = len(member)
    group, stack, count = np.full(n, -2), np.empty(n, np.int64), 0
    for start in range(n):
        if group[start] > -2:
            continue
        group[start] = count
        stack[0], depth = start, 1
        while depth and member[start]:
            depth -= 1
            point = stack[depth]
            for e in range(first[point], first[point + 1]):
                other = neighbour[e]
                if member[other] and contrast[e] < 1.0 and group[other] == -2:
                    group[other] = count
                    stack[depth] = other
                    depth += 1
        count += 1
    for point in range(n):
        if not member[point]:
            group[point] = -1
    return group
