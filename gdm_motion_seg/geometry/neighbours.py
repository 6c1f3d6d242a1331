# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Neighbours in the image: the nearest points, the graph they form, and its connected parts.

By hand: scipy's tree takes three times as long, and its sparse matrices 1 ms of every frame.
"""

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.compilation import kernel

CELLS = 64
"""Cells along each side of the grid in which neighbours are searched; 38 cover the width."""


@kernel
def nearest_neighbours(x: FloatArray, count: int, reach: float) -> IntArray:
    """List the nearest points of each within reach, the nearest first; N stands for none."""
    # Points are sorted into square cells.
    n, side = len(x), reach / 3.0
    first, end = np.zeros(CELLS * CELLS + 1, np.int64), np.zeros(CELLS * CELLS + 1, np.int64)
    cell, order, sorted_x = np.empty((n, 2), np.int64), np.empty(n, np.int64), np.empty((n, 2))
    for i in range(n):
        for k in range(2):
            cell[i, k] = min(max(int(x[i, k] / side), 0), CELLS - 1)
        first[cell[i, 1] * CELLS + cell[i, 0] + 1] += 1
    for c in range(CELLS * CELLS):
        first[c + 1] += first[c]
        end[c + 1] = first[c + 1]
    for i in range(n):
        c = cell[i, 1] * CELLS + cell[i, 0]
        order[end[c]], sorted_x[end[c], 0], sorted_x[end[c], 1] = i, x[i, 0], x[i, 1]
        end[c] += 1
    near, mine = np.empty((n, count), np.int64), np.empty(count, np.int64)
    squared = np.empty(count)
    for i in range(n):
        most = np.inf
        # Cells farther than two away are needed where points are sparse.
        for around in range(2, 4):
            if most <= (2.0 * side) ** 2:
                break
            most = reach * reach
            for c in range(count):
                mine[c], squared[c] = n, most
            left, right = max(cell[i, 0] - around, 0), min(cell[i, 0] + around + 1, CELLS)
            for k in range(2 * around + 1):
                # The rows of cells from the nearest to the farthest.
                row = cell[i, 1] + ((k + 1) // 2 if k % 2 else -(k // 2))
                if not 0 <= row < CELLS:
                    continue
                for a in range(first[row * CELLS + left], first[row * CELLS + right]):
                    dx, dy = x[i, 0] - sorted_x[a, 0], x[i, 1] - sorted_x[a, 1]
                    d = dx * dx + dy * dy
                    if d < most and order[a] != i:
                        c = count - 1
                        while c > 0 and squared[c - 1] > d:
                            mine[c], squared[c] = mine[c - 1], squared[c - 1]
                            c -= 1
                        mine[c], squared[c] = order[a], d
                        most = squared[count - 1]
        for c in range(count):
            near[i, c] = mine[c]
    return near


@kernel
def connected(first: IntArray, neighbour: IntArray, kept: Mask, member: Mask) -> IntArray:
    """
    Return the first member of the group of each member that edges connect; -1 for the others.

    ``first`` and ``neighbour`` are the CSR form of a graph, ``kept`` (E,) tells which edges count.
    """
    n = len(member)
    group, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        group[i] = -1
    for start in range(n):
        if member[start] and group[start] < 0:
            group[start], stack[0], top = start, start, 1
            while top > 0:
                top -= 1
                i = stack[top]
                for e in range(first[i], first[i + 1]):
                    j = neighbour[e]
                    if kept[e] and member[j] and group[j] < 0:
                        group[j], stack[top] = start, j
                        top += 1
    return group


@kernel
def symmetric_rows(near: IntArray) -> tuple[IntArray, IntArray]:
    """Return the CSR form of a symmetric graph: an edge is there if one end names the other."""
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
