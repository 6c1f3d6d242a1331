# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The data and coherence terms of the energy of a partition, and the moves of labels; compiled.

    sum_n U_n(l_n) + lambda sum_mn w_mn [l_m != l_n or outlier]

U_n is the cost of point n under its label: row 0 of ``unary`` (K + 1, N) is the outliers', row
k + 1 that of motion k. w_mn binds neighbours whose flow agrees. An outlier is bound to nobody: a
wrong match has no neighbour that moves like it and pays nothing, and a body that is called a heap
of outliers pays all its bonds. Windows (``bodies``) and pairs (``energy``) share these terms.
"""

from typing import NamedTuple

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.compilation import inner_kernel, kernel
from gdm_motion_seg.segmentation.graph import Graph

UNLINKED = 1e6
"""Cost, above everything else, of a label that a point may not have."""


class Blocks(NamedTuple):
    """Sets of points that may change their label together."""

    first: IntArray
    """(B + 1,) row pointers into ``points``."""
    points: IntArray
    """The points of one block after the other."""


@inner_kernel
def label_costs(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float, linked: int,
                n: int, costs: FloatArray) -> None:
    """
    Write what each label would cost point n, given the labels of its neighbours.

    A label from row ``linked`` on needs a neighbour of that label with like flow.
    """
    for k in range(len(costs)):
        costs[k] = unary[k, n] + (UNLINKED if k >= linked else 0.0)
    for e in range(graph.first[n], graph.first[n + 1]):
        row = labels[graph.neighbour[e]] + 1
        if row > 0:
            costs[row] -= smoothness * graph.bond[e]
            if costs[row] > 0.5 * UNLINKED and graph.bond[e] >= graph.like:
                costs[row] -= UNLINKED


@kernel
def relabel(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float, linked: int,
            sweeps: int) -> None:
    """
    Give point after point its cheapest label, in place, until none changes.

    Later sweeps visit only the points of which a neighbour has changed.
    """
    n_labels, n_points = unary.shape
    costs, waits = np.empty(n_labels), np.empty(n_points, np.bool_)
    for n in range(n_points):
        waits[n] = True
    for _ in range(sweeps):
        changes = 0
        for n in range(n_points):
            if not waits[n]:
                continue
            waits[n] = False
            label_costs(graph, labels, unary, smoothness, linked, n, costs)
            own = labels[n] + 1
            best = own
            for k in range(n_labels):
                if costs[k] < costs[best] - 1e-9:
                    best = k
            if best != own:
                labels[n] = best - 1
                changes += 1
                for e in range(graph.first[n], graph.first[n + 1]):
                    waits[graph.neighbour[e]] = True
        if changes == 0:
            break


@inner_kernel
def _block_energy(graph: Graph, block: IntArray, inside: Mask, labels: IntArray,
                  unary: FloatArray, smoothness: float) -> float:
    """Return the part of J that depends on the labels of some points."""
    energy = 0.0
    for n in block:
        energy += unary[labels[n] + 1, n]
        for e in range(graph.first[n], graph.first[n + 1]):
            m = graph.neighbour[e]
            if labels[n] < 0 or labels[m] != labels[n]:
                # An edge between two of them is seen from both ends.
                energy += smoothness * graph.bond[e] * (0.5 if inside[m] else 1.0)
    return energy


@kernel
def relabel_blocks(graph: Graph, blocks: Blocks, labels: IntArray, unary: FloatArray,
                   smoothness: float) -> None:
    """
    Give every block its cheapest common label, in place, where that lowers J.

    Point by point, a block that moves alike cannot change its label: the first point to leave it
    would pay all its bonds.
    """
    inside = np.zeros(len(labels), np.bool_)
    for b in range(len(blocks.first) - 1):
        block = blocks.points[blocks.first[b]:blocks.first[b + 1]]
        inside[block], best = True, labels[block]
        least = _block_energy(graph, block, inside, labels, unary, smoothness) - 1e-9
        for k in range(len(unary)):
            labels[block] = k - 1
            energy = _block_energy(graph, block, inside, labels, unary, smoothness)
            if energy < least:
                least, best = energy, labels[block]
        labels[block], inside[block] = best, False


@kernel
def all_label_costs(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float,
                    linked: int) -> FloatArray:
    """Return the cost (K + 1, N) of every label for every point, given the other labels."""
    costs, local = np.empty(unary.shape), np.empty(len(unary))
    for n in range(len(labels)):
        label_costs(graph, labels, unary, smoothness, linked, n, local)
        for k in range(len(local)):
            costs[k, n] = local[k]
    return costs


@kernel
def labelling_energy(graph: Graph, labels: IntArray, unary: FloatArray,
                     smoothness: float) -> float:
    """Return the data and the coherence terms of J."""
    total = 0.0
    for n in range(len(labels)):
        total += unary[labels[n] + 1, n]
    return total + smoothness * cut_bonds(graph, labels)


@inner_kernel
def cut_bonds(graph: Graph, labels: IntArray) -> float:
    """Sum the bonds between points with different labels, and those of outliers."""
    cut = 0.0
    for n in range(len(labels)):
        for e in range(graph.first[n], graph.first[n + 1]):
            if labels[n] < 0 or labels[graph.neighbour[e]] != labels[n]:
                cut += 0.5 * graph.bond[e]
    return cut
