# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The energy of a partition into motions and outliers, and the moves that lower it; compiled.

    J = sum_n U_n(l_n)                                   data, in nats
      + lambda sum_mn w_mn [l_m != l_n or outlier]       coherence of neighbours
      + kappa N sum_k w_k (d_k - c s_k)                  the paper's dimensions
      - eta sum_k n_k log(n_k / N)                       code length of the labels
      + sum_k (beta + gamma M^3/4 n_k^1/4) + delta B     prices of motions and of their parts

U_n is the cost of point n under its motion, or the price of an outlier. In a window it holds the
price of leaving the label of the frame before as well; eta, gamma and delta are zero there,
because the world is known and every body is connected. w_mn binds neighbours whose flow agrees. An
outlier is bound to nobody: a wrong match has no neighbour that moves like it and pays nothing, and
a body that is called a heap of outliers pays all its bonds.

d_k is the empirical dimension (the paper's d-hat) of the points of cluster k, embedded as
x (x) x', and w_k its share of the points: of the family (sum_k w_k d_k^p)^(1/p) it is p = 1. s_k
is the dimension of the places x' (x) x' alone (see ``gdm.excess``). What else a split gains by
chance is paid for by gamma, with M the inliers: a small body costs little. B counts the connected
parts of all motions: two cars that drive alike are two parts, and save nothing as one motion.
"""

import math
from typing import NamedTuple

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.gdm.excess import excess_dimension
from gdm_motion_seg.geometry.rigid import copy, face_forward, refine_rigid, rigid_cost
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.graph import Graph

NOISE_STEPS = 4
"""Steps of the fixed-point iteration for the noise."""
UNLINKED = 1e6
"""Cost, above everything else, of a label that a point may not have."""


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
    graph: Graph
    """Neighbours in both frames."""
    near: IntArray
    """(N, M) the nearest points of each, itself first."""


@kernel
def label_costs(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float, linked: int,
                n: int, costs: FloatArray) -> None:
    """
    Write what each label would cost point n, given the labels of its neighbours.

    Row 0 of ``unary`` (K + 1, N) is the outliers', row k + 1 that of motion k. A label from row
    ``linked`` on needs a neighbour of that label with like flow.
    """
    for k in range(len(costs)):
        costs[k] = unary[k, n] + (UNLINKED if k >= linked else 0.0)
    for e in range(graph.first[n], graph.first[n + 1]):
        row = labels[graph.neighbour[e]] + 1
        if row > 0:
            costs[row] -= smoothness * graph.bond[e]
            if costs[row] > 0.5 * UNLINKED and graph.contrast[e] < 1.0:
                costs[row] -= UNLINKED


@kernel
def relabel(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float, coding: float,
            linked: int, sweeps: int) -> None:
    """Give point after point its cheapest label, in place, until none changes."""
    n_labels, n_points = unary.shape
    costs, counts = np.empty(n_labels), np.zeros(n_labels, np.int64)
    for label in labels:
        counts[label + 1] += 1
    for _ in range(sweeps):
        changes = 0
        for n in range(n_points):
            label_costs(graph, labels, unary, smoothness, linked, n, costs)
            own = labels[n] + 1
            best, least = own, np.inf
            for k in range(n_labels):
                cost = costs[k]
                if coding > 0.0:
                    # The difference of -m log(m / N) over m, for m points besides this one.
                    others = counts[k] - (k == own)
                    cost -= coding * (1.0 + math.log((others + 0.5) / n_points))
                if cost < least - 1e-9 or (k == own and cost <= least + 1e-9):
                    best, least = k, cost
            if best != own:
                counts[own] -= 1
                counts[best] += 1
                labels[n] = best - 1
                changes += 1
        if changes == 0:
            break


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
    total, cut = 0.0, 0.0
    for n in range(len(labels)):
        k = labels[n]
        total += unary[k + 1, n]
        for e in range(graph.first[n], graph.first[n + 1]):
            if k < 0 or labels[graph.neighbour[e]] != k:
                cut += 0.5 * graph.bond[e]
    return total + smoothness * cut


@kernel
def _root(parent: IntArray, n: int) -> int:
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@kernel
def count_parts(graph: Graph, labels: IntArray, smallest: int) -> int:
    """Count the connected parts of the motions that have enough points (union-find)."""
    parent, size = np.arange(len(labels)), np.zeros(len(labels), np.int64)
    for n in range(len(labels)):
        for e in range(graph.first[n], graph.first[n + 1]):
            m = graph.neighbour[e]
            if m < n and labels[m] == labels[n]:
                parent[_root(parent, n)] = _root(parent, m)
    for n in range(len(labels)):
        if labels[n] >= 0:
            size[_root(parent, n)] += 1
    count = 0
    for s in size:
        if s >= smallest:
            count += 1
    return count


@kernel
def price_of_sizes(labels: IntArray, n_motions: int, weights: Weights) -> float:
    """Return the terms of eta and gamma."""
    counts, total = np.zeros(n_motions + 1), 0.0
    for label in labels:
        counts[label + 1] += 1.0
    inliers = len(labels) - counts[0]
    for k in range(n_motions + 1):
        if counts[k] > 0.0:
            total -= weights.coding * counts[k] * math.log(counts[k] / len(labels))
            if k > 0:
                total += weights.size * inliers ** 0.75 * counts[k] ** 0.25
    return total


@kernel
def members_of(labels: IntArray, k: int, costs: FloatArray, most: float) -> IntArray:
    """List the points with label k whose cost is at most ``most``."""
    found, count = np.empty(len(labels), np.int64), 0
    for n in range(len(labels)):
        if labels[n] == k and costs[n] <= most:
            found[count] = n
            count += 1
    return found[:count]


@kernel
def fit_costs(problem: Problem, labels: IntArray, motions: FloatArray, outlier: float,
              costs: FloatArray) -> None:
    """Refine every motion on its points, in place, and write the cost of every point under it."""
    mirrored, ones = np.empty(len(labels)), np.ones(len(labels))
    for k in range(len(motions)):
        members = members_of(labels, k, ones, np.inf)
        if len(members) >= 5:
            refine_rigid(motions[k], problem.rays, members, problem.precision, ones, 0.0, 4)
        rigid_cost(motions[k], problem.rays, problem.precision, costs[k], mirrored)
        face_forward(motions[k], costs[k], mirrored, members, outlier)


@kernel
def scale_noise(labels: IntArray, costs: FloatArray, weights: Weights) -> None:
    """
    Divide the costs by the variance v of the pair's noise, relative to the assumed one, in place.

    v maximises the likelihood of the costs of the points under their own motions (Student's t,
    by a fixed-point iteration); log(v) / 2 per point is its normalisation.
    """
    variance = 1.0
    for _ in range(NOISE_STEPS):
        total, count = 0.0, 0
        for n in range(len(labels)):
            if labels[n] >= 0:
                cost = costs[labels[n], n]
                total += 2.0 * cost / (1.0 + cost / (weights.tail * variance))
                count += 1
        variance = min(max(total / max(count, 1), 1.0), weights.most_noise)
    for k in range(len(costs)):
        for n in range(len(labels)):
            costs[k, n] = costs[k, n] / variance + 0.5 * math.log(variance)


@kernel
def unary_costs(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                data: FloatArray, unary: FloatArray) -> float:
    """
    Write the data term of each label, and the same with each point's share in the dimensions.

    Row 0 is the outliers'. Residuals have heavy tails (Student's t). Only points that follow their
    motion count in its dimension. Returns the dimension term.
    """
    n_motions, n_points = costs.shape
    share = np.empty((n_motions, n_points))
    total, followers = 0.0, 0
    for k in range(n_motions):
        members = members_of(labels, k, costs[k], weights.core)
        excess = excess_dimension(problem.vectors, problem.places, members, weights.epsilon,
                                  weights.null, share[k])
        total += len(members) * excess
        followers += len(members)
        for n in range(n_points):
            share[k, n] = excess + max(-weights.share_cap, min(share[k, n], weights.share_cap))
    mean = total / max(followers, 1)
    scale = weights.dimension * n_points / max(followers, 1)
    for n in range(n_points):
        data[0, n] = unary[0, n] = weights.outlier
        for k in range(n_motions):
            data[k + 1, n] = weights.tail * math.log(1.0 + costs[k, n] / weights.tail)
            unary[k + 1, n] = data[k + 1, n]
            if costs[k, n] <= weights.core:
                unary[k + 1, n] += scale * (share[k, n] - mean)
    return float(weights.dimension * n_points * mean)


@kernel
def _worst_member(problem: Problem, labels: IntArray, costs: FloatArray, members: IntArray,
                  share: FloatArray, scale: float, weights: Weights) -> tuple[int, float]:
    """Return the member that should leave first and what that costs, dimensions aside; or -1."""
    worst, gain, price = -1, 0.0, 0.0
    for n in members:
        k = labels[n]
        leave = weights.outlier - weights.tail * math.log(1.0 + costs[k, n] / weights.tail)
        for e in range(problem.graph.first[n], problem.graph.first[n + 1]):
            if labels[problem.graph.neighbour[e]] == k:
                leave += weights.smoothness * problem.graph.bond[e]
        if scale * share[n] - leave > gain:
            worst, gain, price = n, scale * share[n] - leave, leave
    return worst, price


@kernel
def _excess(problem: Problem, members: IntArray, weights: Weights, share: FloatArray) -> float:
    return excess_dimension(problem.vectors, problem.places, members, weights.epsilon,
                            weights.null, share)


@kernel
def prune(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights) -> int:
    """
    Make outliers, in place, of members that raise the dimension of their cluster; return how many.

    Wrong members hide each other: without one of them the others span the same directions. So
    members leave one by one, the worst first, and the best prefix of that sequence is kept.
    """
    n_motions, n_points = costs.shape
    share, gone = np.empty(n_points), np.empty(n_points, np.int64)
    counts, excess = np.zeros(n_motions), np.zeros(n_motions)
    for k in range(n_motions):
        members = members_of(labels, k, costs[k], weights.core)
        counts[k], excess[k] = len(members), _excess(problem, members, weights, share)
    pruned = 0
    for k in range(n_motions):
        total, followers = 0.0, 0.0
        for j in range(n_motions):
            total += counts[j] * excess[j] if j != k else 0.0
            followers += counts[j] if j != k else 0.0
        start = (total + counts[k] * excess[k]) / max(followers + counts[k], 1.0)
        best, price, kept, left = 0.0, 0.0, 0, 0
        for step in range(int(counts[k]) // 5):
            members = members_of(labels, k, costs[k], weights.core)
            now = _excess(problem, members, weights, share)
            mean = (total + len(members) * now) / max(followers + len(members), 1.0)
            value = price + weights.dimension * n_points * (mean - start)
            if value < best - 1e-6:
                best, kept = value, step
            for n in members:
                share[n] += now - mean
            scale = weights.dimension * n_points / max(followers + len(members), 1.0)
            worst, more = _worst_member(problem, labels, costs, members, share, scale, weights)
            if worst < 0:
                break
            labels[worst] = -1
            gone[left] = worst
            left += 1
            price += more
        for i in range(kept, left):
            labels[gone[i]] = k
        pruned += kept
    return pruned


@kernel
def dissolve_small(labels: IntArray, motions: FloatArray, smallest: int) -> int:
    """Make outliers of motions with too few points and close the gaps, in place; return K."""
    counts, new = np.zeros(len(motions), np.int64), np.full(len(motions), -1)
    for label in labels:
        if label >= 0:
            counts[label] += 1
    kept = 0
    for k in range(len(motions)):
        if counts[k] >= smallest:
            new[k] = kept
            if kept < k:
                copy(motions[k], motions[kept])
            kept += 1
    for n in range(len(labels)):
        if labels[n] >= 0:
            labels[n] = new[labels[n]]
    return kept


@kernel
def descend(problem: Problem, labels: IntArray, motions: FloatArray, weights: Weights,
            rounds: int, loose: int) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """
    Refit and relabel in turn while J falls; return labels, motions, costs and J.

    The first ``loose`` rounds have a share of the smoothness only, and go on where J rises. J is
    without the price of the motions; motions may vanish.
    """
    n_points, n_motions = len(labels), len(motions)
    labels, motions = labels.copy(), motions.copy()
    best_labels, best_motions = labels, motions
    best_costs, best = np.empty((n_motions, n_points)), np.inf
    for i in range(rounds + 1):
        costs = np.empty((n_motions, n_points))
        data, unary = np.empty((n_motions + 1, n_points)), np.empty((n_motions + 1, n_points))
        fit_costs(problem, labels, motions, weights.outlier, costs)
        scale_noise(labels, costs, weights)
        value = unary_costs(problem, labels, costs, weights, data, unary)
        value += labelling_energy(problem.graph, labels, data, weights.smoothness)
        value += weights.part * count_parts(problem.graph, labels, weights.smallest)
        value += price_of_sizes(labels, n_motions, weights)
        better = value < best - 1e-6 or n_motions < len(best_motions)
        if better:
            best, best_labels, best_motions = value, labels.copy(), motions.copy()
            best_costs = costs
        if i == rounds or (i > loose and not better) or n_motions == 0:
            break
        smoothness = weights.smoothness * (weights.loose if i < loose else 1.0)
        relabel(problem.graph, labels, unary, smoothness, weights.coding, n_motions + 1, 4)
        n_motions = dissolve_small(labels, motions, weights.smallest)
        motions = motions[:n_motions].copy()
    return best_labels, best_motions, best_costs, best
