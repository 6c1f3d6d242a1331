# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Islands of flow: sets of neighbouring points that a jump of the flow cuts off from the rest.

A mover that drives ahead of the camera along its epipolar lines follows the motion of the world as
well as its own: no residual betrays it. But its flow differs from that of what lies around it. The
islands are where a partition may look for such a motion; whether it pays is for J to say.
"""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.segmentation.problem import Problem

SAME = 0.8
"""Two islands that share so much of their union are one."""


def flow_islands(problem: Problem, smallest: int, most: int) -> list[npt.NDArray[np.bool_]]:
    """
    Find the islands that are best cut off, as masks (N,); single linkage on the neighbour graph.

    Neighbours are joined from the strongest bond to the weakest. What has ``smallest`` points or
    more, but not half of all, is an island when it is joined to something as large; it counts by
    its size times the fall of the bonds from those within to the one that joins it.
    """
    n = len(problem.y1)
    one = np.repeat(np.arange(n), np.diff(problem.first))
    once = one < problem.neighbour
    one, other, bond = one[once], problem.neighbour[once], problem.bond[once]
    order = np.argsort(-bond, kind='stable')
    members, scores = _linked(n, one[order], other[order], bond[order], smallest)
    islands: list[npt.NDArray[np.bool_]] = []
    for i in np.argsort(-scores, kind='stable'):
        island = members[i]
        if len(islands) == most:
            break
        if all((island & known).sum() < SAME * (island | known).sum() for known in islands):
            islands.append(island)
    return islands


@kernel
def _root(parent: IntArray, n: int) -> int:
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@kernel
def _linked(n: int, one: IntArray, other: IntArray, bond: FloatArray,
            smallest: int) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Link neighbours by falling bond; return the islands (I, N) that appear, and their scores."""
    parent, size = np.arange(n), np.ones(n, np.int64)
    birth = np.zeros(n)
    # Each joining of two large sets leaves one large set less, so this is room enough.
    room = 2 * (n // smallest + 1)
    members, scores = np.zeros((room, n), np.bool_), np.zeros(room)
    count = 0
    for e in range(len(bond) + 1):
        if e == len(bond):
            # What no edge joins is an island, too.
            for r in range(n):
                if parent[r] == r and smallest <= size[r] <= n // 2:
                    scores[count] = size[r] * birth[r]
                    for m in range(n):
                        members[count, m] = _root(parent, m) == r
                    count += 1
            break
        a, b = _root(parent, one[e]), _root(parent, other[e])
        if a == b:
            continue
        large = size[a] >= smallest and size[b] >= smallest
        if large:
            for r in (a, b):
                if size[r] <= n // 2:
                    scores[count] = size[r] * (birth[r] - bond[e])
                    for m in range(n):
                        members[count, m] = _root(parent, m) == r
                    count += 1
        if size[a] < size[b]:
            a, b = b, a
        if large or size[a] < smallest:
            birth[a] = bond[e]
        parent[b] = a
        size[a] += size[b]
    return members[:count], scores[:count]
