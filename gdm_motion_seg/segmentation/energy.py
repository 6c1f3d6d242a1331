# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The energy of a partition, and the descent that lowers it; compiled.

    J = sum_n U_n + lambda sum_mn w_mn [l_m != l_n or outlier]
        + kappa N sum_k w_k (d_k - c s_k) - eta sum_k n_k log(n_k / N)
        + sum_k (beta + gamma M^3/4 n_k^1/4) + delta B

U_n is the cost of point n under its motion (R, t) with heavy tails, in units of the noise of the
pair, or the price of an outlier.
w_mn binds neighbours whose flow agrees. An outlier is bound to nobody, to other outliers neither:
a wrong match has no neighbour that moves like it, so it pays nothing, and a body that is called a
heap of outliers pays all its bonds.

The third term is the paper's: d_k is the empirical dimension of the points of cluster k embedded
as x (x) x', and w_k its share of the points. Of the family (sum_k w_k d_k^p)^(1/p) it is p = 1,
the mean. Any part of a cluster has a lower dimension than the whole, because it covers less of the
image. So the dimension s_k of the places x' (x) x' alone is subtracted: what remains is due to the
motion. The rest of what a split gains by chance is paid for by gamma, with M the inliers: a small
body costs little.

The fourth term is the code length of the labels, whose part for a small body grows with log N
only. B counts the connected parts of all motions: two cars that drive alike are two bodies, and
save nothing by being one motion. beta K is added by the solver.
"""

import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.gdm.eigen import eigensystem
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import copy, face_forward, refine_rigid, rigid_cost
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.problem import Problem
from gdm_motion_seg.segmentation.graph import Graph

UNLINKED = 1e6
NOISE_STEPS = 4
"""Steps of the fixed-point iteration for the noise."""
SMALLEST_EIGENVALUE = 1e-12
"""Relative to the largest one; a direction that no point uses has no logarithm."""


@kernel
def robust(cost: float, weights: Weights) -> float:
    """Return the cost under heavy-tailed noise (Student's t)."""
    return weights.tail * math.log(1.0 + cost / weights.tail)


@kernel
def followers_of(labels: IntArray, costs: FloatArray, k: int, core: float) -> IntArray:
    """List the points with label k whose cost under motion k is at most ``core``."""
    found, count = np.empty(len(labels), np.int64), 0
    for n in range(len(labels)):
        if labels[n] == k and costs[k, n] <= core:
            found[count] = n
            count += 1
    return found[:count]


@kernel
def dimension_shares(vectors: FloatArray, members: IntArray, epsilon: float, weight: float,
                     share: FloatArray) -> float:
    """
    Compute the empirical dimension d of the members; add the share of every point to ``share``.

    The part of direction i of the Gram matrix is m (d - d without it). A point has as much of it
    as it has of that direction's eigenvalue, less the mean over the members. So the share, times
    ``weight``, estimates by how much m d falls without the point and those like it.
    """
    d, m = len(vectors), len(members)
    gram, axes, values, off = np.zeros((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    for n in members:
        for i in range(d):
            for j in range(i + 1):
                gram[i, j] += vectors[i, n] * vectors[j, n]
    eigensystem(gram, axes, values, off)
    largest = 1e-300
    for value in values:
        largest = max(largest, value)
    delta = epsilon / (1.0 - epsilon)
    above, below = 0.0, 0.0
    for i in range(d):
        values[i] = 0.5 * math.log(max(values[i] / largest, SMALLEST_EIGENVALUE))
        above += math.exp(epsilon * values[i])
        below += math.exp(delta * values[i])
    dimension = math.exp(math.log(above) / epsilon - math.log(below) / delta)
    form, mean = np.zeros((d, d)), 0.0
    for i in range(d):
        rest = math.exp(math.log(above - math.exp(epsilon * values[i])) / epsilon
                        - math.log(below - math.exp(delta * values[i])) / delta)
        mean += weight * (dimension - rest)
        slope = weight * (dimension - rest) * m * math.exp(-2.0 * values[i]) / largest
        for j in range(d):
            for k in range(j + 1):
                form[j, k] += slope * axes[i, j] * axes[i, k]
    for n in range(len(share)):
        share[n] -= mean
    for j in range(d):
        for k in range(j + 1):
            entry = form[j, k] if j == k else 2.0 * form[j, k]
            one, other = vectors[j], vectors[k]
            for n in range(len(share)):
                share[n] += entry * one[n] * other[n]
    return dimension


@kernel
def excess_dimension(problem: Problem, members: IntArray, weights: Weights,
                     share: FloatArray) -> float:
    """Return d - c s of the members, and write the share of every point in m times that."""
    for n in range(len(share)):
        share[n] = 0.0
    if len(members) == 0 or weights.dimension == 0.0:
        return 0.0
    return (dimension_shares(problem.vectors, members, weights.epsilon, 1.0, share)
            - weights.null * dimension_shares(problem.places, members, weights.epsilon,
                                              -weights.null, share))


@kernel
def fit_costs(problem: Problem, labels: IntArray, motions: FloatArray, weights: Weights,
              costs: FloatArray) -> None:
    """Refine every motion on its points, in place, and write the cost of every point under it."""
    mirrored, ones = np.empty(len(labels)), np.ones(len(labels))
    for k in range(len(motions)):
        count = 0
        for label in labels:
            count += label == k
        members, i = np.empty(count, np.int64), 0
        for n in range(len(labels)):
            if labels[n] == k:
                members[i] = n
                i += 1
        if count >= 5:
            refine_rigid(motions[k], problem.rays, members, problem.precision, ones, 0.0, 4)
        rigid_cost(motions[k], problem.rays, problem.precision, costs[k], mirrored)
        face_forward(motions[k], costs[k], mirrored, members, weights.outlier)


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
        variance = min(max(total / max(count, 1), weights.least_noise), weights.most_noise)
    for k in range(len(costs)):
        for n in range(len(labels)):
            costs[k, n] = costs[k, n] / variance + 0.5 * math.log(variance)


@kernel
def unary_costs(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                unary: FloatArray) -> float:
    """Write what each label costs each point, row 0 for outliers; return the dimension term."""
    n_motions, n_points = costs.shape
    share = np.empty((n_motions, n_points))
    total, followers = 0.0, 0
    for k in range(n_motions):
        members = followers_of(labels, costs, k, weights.core)
        excess = excess_dimension(problem, members, weights, share[k])
        total += len(members) * excess
        followers += len(members)
        for n in range(n_points):
            share[k, n] = excess + max(-weights.dimension_cap,
                                       min(share[k, n], weights.dimension_cap))
    mean = total / max(followers, 1)
    scale = weights.dimension * n_points / max(followers, 1)
    for n in range(n_points):
        unary[0, n] = weights.outlier
        for k in range(n_motions):
            unary[k + 1, n] = robust(costs[k, n], weights)
            if costs[k, n] <= weights.core:
                unary[k + 1, n] += scale * (share[k, n] - mean)
    return weights.dimension * n_points * mean


@kernel
def _root(parent: IntArray, n: int) -> int:
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@kernel
def count_bodies(problem: Problem, labels: IntArray, smallest: int) -> int:
    """Count the connected parts of the motions that have enough points (union-find)."""
    parent, size = np.arange(len(labels)), np.zeros(len(labels), np.int64)
    for n in range(len(labels)):
        for e in range(problem.first[n], problem.first[n + 1]):
            m = problem.neighbour[e]
            if m < n and labels[m] == labels[n]:
                parent[_root(parent, n)] = _root(parent, m)
    count = 0
    for n in range(len(labels)):
        if labels[n] >= 0:
            size[_root(parent, n)] += 1
    for s in size:
        count += s >= smallest  # type: ignore[assignment]
    return count


@kernel
def energy(problem: Problem, labels: IntArray, costs: FloatArray, dimension_term: float,
           weights: Weights) -> float:
    """Compute J without the price of the motions."""
    total, cut, counts = dimension_term, 0.0, np.zeros(len(costs) + 1)
    for n in range(len(labels)):
        k = labels[n]
        counts[k + 1] += 1.0
        total += weights.outlier if k < 0 else robust(costs[k, n], weights)
        for e in range(problem.first[n], problem.first[n + 1]):
            if k < 0 or labels[problem.neighbour[e]] != k:
                cut += 0.5 * problem.bond[e]
    inliers = len(labels) - counts[0]
    for count in counts[1:]:
        if count > 0.0:
            total += weights.size * inliers ** 0.75 * count ** 0.25
    for count in counts:
        if count > 0.0:
            total -= weights.coding * count * math.log(count / len(labels))
    return (total + weights.smoothness * cut
            + weights.body * count_bodies(problem, labels, weights.smallest))


@kernel
def relabel(problem: Problem, labels: IntArray, unary: FloatArray, smoothness: float,
            coding: float, sweeps: int) -> None:
    """Give point after point its cheapest label, in place, until none changes."""
    n_labels, n_points = unary.shape
    local, counts = np.empty(n_labels), np.zeros(n_labels)
    for label in labels:
        counts[label + 1] += 1.0
    # Differences of -m log(m / N) over m.
    steps = np.empty(n_points + 1)
    for m in range(n_points + 1):
        steps[m] = -coding * (1.0 + math.log((m + 0.5) / n_points))
    for _ in range(sweeps):
        changes = 0
        for n in range(n_points):
            own = labels[n] + 1
            for k in range(n_labels):
                local[k] = unary[k, n] + steps[int(counts[k]) - (k == own)]
            for e in range(problem.first[n], problem.first[n + 1]):
                k = labels[problem.neighbour[e]]
                if k >= 0:
                    local[k + 1] -= smoothness * problem.bond[e]
            best = own
            for k in range(n_labels):
                if local[k] < local[best] - 1e-9:
                    best = k
            if best != own:
                counts[own] -= 1.0
                counts[best] += 1.0
                labels[n] = best - 1
                changes += 1
        if changes == 0:
            break


@kernel
def _worst_member(problem: Problem, labels: IntArray, costs: FloatArray, members: IntArray,
                  share: FloatArray, scale: float, weights: Weights) -> tuple[int, float]:
    """Return the member that should leave first and what that costs, dimensions aside; or -1."""
    worst, gain, price = -1, 0.0, 0.0
    for n in members:
        k = labels[n]
        leave = weights.outlier - robust(costs[k, n], weights)
        for e in range(problem.first[n], problem.first[n + 1]):
            if labels[problem.neighbour[e]] == k:
                leave += weights.smoothness * problem.bond[e]
        if scale * share[n] - leave > gain:
            worst, gain, price = n, scale * share[n] - leave, leave
    return worst, price


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
        members = followers_of(labels, costs, k, weights.core)
        counts[k], excess[k] = len(members), excess_dimension(problem, members, weights, share)
    pruned = 0
    for k in range(n_motions):
        total, followers = 0.0, 0.0
        for j in range(n_motions):
            total += counts[j] * excess[j] if j != k else 0.0
            followers += counts[j] if j != k else 0.0
        start = (total + counts[k] * excess[k]) / max(followers + counts[k], 1.0)
        best, price, kept, left = 0.0, 0.0, 0, 0
        for step in range(int(counts[k]) // 5):
            members = followers_of(labels, costs, k, weights.core)
            now = excess_dimension(problem, members, weights, share)
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
        costs, unary = np.empty((n_motions, n_points)), np.empty((n_motions + 1, n_points))
        fit_costs(problem, labels, motions, weights, costs)
        scale_noise(labels, costs, weights)
        term = unary_costs(problem, labels, costs, weights, unary)
        value = energy(problem, labels, costs, term, weights)
        better = value < best - 1e-6 or n_motions < len(best_motions)
        if better:
            best, best_labels, best_motions = value, labels.copy(), motions.copy()
            best_costs = costs
        if i == rounds or (i > loose and not better) or n_motions == 0:
            break
        smoothness = weights.smoothness * (weights.loose if i < loose else 1.0)
        relabel(problem, labels, unary, smoothness, weights.coding, 4)
        n_motions = dissolve_small(labels, motions, weights.smallest)
        motions = motions[:n_motions].copy()
    return best_labels, best_motions, best_costs, best


@kernel
def _label_costs(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float,
                 linked: int, n: int, local: FloatArray) -> None:
    for k in range(len(local)):
        local[k] = unary[k, n] + (UNLINKED if k >= linked else 0.0)
    for e in range(graph.first[n], graph.first[n + 1]):
        row = labels[graph.neighbour[e]] + 1
        if row > 0:
            local[row] -= smoothness * graph.bond[e]
            if local[row] > 0.5 * UNLINKED and graph.contrast[e] < 1.0:
                local[row] -= UNLINKED


@kernel
def relabel2(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float, linked: int,
             sweeps: int) -> None:
    local = np.empty(len(unary))
    for _ in range(sweeps):
        changes = 0
        for n in range(len(labels)):
            _label_costs(graph, labels, unary, smoothness, linked, n, local)
            best = labels[n] + 1
            for k in range(len(local)):
                if local[k] < local[best] - 1e-9:
                    best = k
            if best != labels[n] + 1:
                labels[n] = best - 1
                changes += 1
        if changes == 0:
            break


@kernel
def local_costs2(graph: Graph, labels: IntArray, unary: FloatArray, smoothness: float,
                 linked: int) -> FloatArray:
    costs, local = np.empty(unary.shape), np.empty(len(unary))
    for n in range(len(labels)):
        _label_costs(graph, labels, unary, smoothness, linked, n, local)
        for k in range(len(local)):
            costs[k, n] = local[k]
    return costs
