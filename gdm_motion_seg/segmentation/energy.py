# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The energy of a partition, and its descent; compiled."""

import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.gdm.eigen import eigensystem, eigenvalues
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import copy, face_forward, refine_rigid, rigid_cost
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.problem import Problem


@kernel
def members_of(labels: IntArray, k: int) -> IntArray:
    """List the points with label k."""
    count = 0
    for label in labels:
        count += label == k
    members = np.empty(count, np.int64)
    i = 0
    for n in range(len(labels)):
        if labels[n] == k:
            members[i] = n
            i += 1
    return members


@kernel
def robust(cost: float, weights: Weights) -> float:
    """Return the cost under heavy-tailed noise (Student's t)."""
    return weights.tail * math.log(1.0 + cost / weights.tail)


@kernel
def _gram(vectors: FloatArray, members: IntArray, gram: FloatArray) -> None:
    """Write the lower triangle of the Gram matrix of the members."""
    d = len(vectors)
    for i in range(d):
        for j in range(i + 1):
            gram[i, j] = 0.0
    for n in members:
        for i in range(d):
            for j in range(i + 1):
                gram[i, j] += vectors[i, n] * vectors[j, n]


@kernel
def _logarithms(values: FloatArray, epsilon: float) -> tuple[float, float, float, float]:
    """
    Turn eigenvalues into logarithms of singular values over the largest one, in place.

    Returns the empirical dimension, the two sums that it consists of, and the largest eigenvalue.
    """
    largest = 1e-300
    for value in values:
        largest = max(largest, value)
    delta = epsilon / (1.0 - epsilon)
    above, below = 0.0, 0.0
    for i in range(len(values)):
        values[i] = 0.5 * math.log(max(values[i] / largest, 1e-12))
        above += math.exp(epsilon * values[i])
        below += math.exp(delta * values[i])
    return math.exp(math.log(above) / epsilon - math.log(below) / delta), above, below, largest


@kernel
def dimension_shares(vectors: FloatArray, gram: FloatArray, m: int, epsilon: float, weight: float,
                     out: FloatArray) -> float:
    """
    Compute the empirical dimension d of m points; add its share of each point to ``out``.

    The share of a point is weight m dd/dn, where dd/dn is the change of d by one more such point, a
    quadratic form in its vector. Over the members it sums to zero.
    """
    d = len(vectors)
    axes, values, off = np.empty((d, d)), np.empty(d), np.empty(d)
    eigensystem(gram, axes, values, off)
    dimension, above, below, largest = _logarithms(values, epsilon)
    delta = epsilon / (1.0 - epsilon)
    form, mean = np.zeros((d, d)), 0.0
    for i in range(d):
        rest = math.exp(math.log(above - math.exp(epsilon * values[i])) / epsilon
                        - math.log(below - math.exp(delta * values[i])) / delta)
        slope = weight * (dimension - rest) * m * math.exp(-2.0 * values[i]) / largest
        mean += weight * (dimension - rest)
        for j in range(d):
            for k in range(j + 1):
                form[j, k] += slope * axes[i, j] * axes[i, k]
    for j in range(d):
        for k in range(j + 1):
            entry = form[j, k] if j == k else 2.0 * form[j, k]
            one, other = vectors[j], vectors[k]
            for n in range(len(out)):
                out[n] += entry * one[n] * other[n]
    for n in range(len(out)):
        out[n] -= mean
    return dimension


@kernel
def excess_dimension(problem: Problem, members: IntArray, weights: Weights,
                     share: FloatArray) -> float:
    """Compute the excess dimension of the members and write the share of every point in it."""
    gram, gram_of_places = np.empty((9, 9)), np.empty((6, 6))
    for n in range(len(share)):
        share[n] = 0.0
    if len(members) == 0 or weights.dimension == 0.0:
        return 0.0
    _gram(problem.vectors, members, gram)
    _gram(problem.places, members, gram_of_places)
    return (dimension_shares(problem.vectors, gram, len(members), weights.epsilon, 1.0, share)
            - weights.null * dimension_shares(problem.places, gram_of_places, len(members),
                                              weights.epsilon, -weights.null, share))


@kernel
def followers_of(labels: IntArray, costs: FloatArray, k: int, core: float) -> IntArray:
    """List the points with label k that follow its motion."""
    found, count = np.empty(len(labels), np.int64), 0
    for n in range(len(labels)):
        if labels[n] == k and costs[k, n] <= core:
            found[count] = n
            count += 1
    return found[:count]


@kernel
def fit_costs(problem: Problem, labels: IntArray, motions: FloatArray, weights: Weights,
              steps: int, costs: FloatArray) -> None:
    """Refine every motion on its points and write the cost of every point under it."""
    mirrored, ones = np.empty(len(labels)), np.ones(len(labels))
    for k in range(len(motions)):
        if k == 0 and len(problem.world):
            for n in range(len(labels)):
                costs[0, n] = problem.world[n]
            continue
        members = members_of(labels, k)
        if len(members) >= 5 and steps > 0:
            refine_rigid(motions[k], problem.rays, members, problem.precision, ones, 0.0, steps)
        rigid_cost(motions[k], problem.rays, problem.precision, costs[k], mirrored)
        face_forward(motions[k], costs[k], mirrored, members, weights.outlier)


@kernel
def unary_costs(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                unary: FloatArray) -> float:
    """
    Write what each label costs each point by itself, row 0 for outliers; return the excess term.

    The excess dimension of a cluster is d of its embedded points less d of their places alone.
    """
    n_motions, n_points = costs.shape
    share = np.empty((n_motions, n_points))
    total, followers = 0.0, 0
    for n in range(n_points):
        unary[0, n] = weights.outlier
    for k in range(n_motions):
        members = followers_of(labels, costs, k, weights.core)
        excess = excess_dimension(problem, members, weights, share[k])
        for n in range(n_points):
            share[k, n] = excess + max(-weights.dimension_cap,
                                       min(share[k, n], weights.dimension_cap))
        total += len(members) * excess
        followers += len(members)
    mean = total / max(followers, 1)
    scale = weights.dimension * n_points / max(followers, 1)
    for k in range(n_motions):
        for n in range(n_points):
            value = robust(costs[k, n], weights)
            if costs[k, n] <= weights.core:
                value += scale * (share[k, n] - mean)
            if problem.previous[n] >= 0 and problem.previous[n] != k:
                value += weights.stay
            unary[k + 1, n] = value
    return weights.dimension * n_points * mean


@kernel
def energy(problem: Problem, labels: IntArray, costs: FloatArray, excess: float,
           weights: Weights) -> float:
    """Compute J without the price of the motions."""
    total, cut = excess, 0.0
    for n in range(len(labels)):
        k = labels[n]
        total += weights.outlier if k < 0 else robust(costs[k, n], weights)
        if problem.previous[n] >= 0 and problem.previous[n] != k:
            total += weights.stay
        for e in range(problem.first[n], problem.first[n + 1]):
            # An outlier agrees with nobody, not with other outliers either.
            if k < 0 or labels[problem.neighbour[e]] != k:
                cut += 0.5 * problem.bond[e]
    return (total + weights.smoothness * cut
            + weights.body * count_bodies(problem, labels, weights.smallest))


@kernel
def _root(parent: IntArray, n: int) -> int:
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@kernel
def count_bodies(problem: Problem, labels: IntArray, smallest: int) -> int:
    """Count the connected parts of the motions that have enough points."""
    n_points = len(labels)
    parent, size = np.arange(n_points), np.zeros(n_points, np.int64)
    for n in range(n_points):
        if labels[n] >= 0:
            for e in range(problem.first[n], problem.first[n + 1]):
                m = problem.neighbour[e]
                if m < n and labels[m] == labels[n]:
                    parent[_root(parent, n)] = _root(parent, m)
    for n in range(n_points):
        if labels[n] >= 0:
            size[_root(parent, n)] += 1
    count = 0
    for s in size:
        count += s >= smallest
    return count


@kernel
def relabel(problem: Problem, labels: IntArray, unary: FloatArray, weights: Weights,
            smoothness: float, sweeps: int) -> None:
    """Give point after point its cheapest label until none changes."""
    n_labels, n_points = unary.shape
    local = np.empty(n_labels)
    for _ in range(sweeps):
        changes = 0
        for n in range(n_points):
            own = labels[n] + 1
            for k in range(n_labels):
                local[k] = unary[k, n]
            for e in range(problem.first[n], problem.first[n + 1]):
                k = labels[problem.neighbour[e]] + 1
                if k > 0:
                    local[k] -= smoothness * problem.bond[e]
            best = own
            for k in range(n_labels):
                if local[k] < local[best] - 1e-9:
                    best = k
            if best != own:
                labels[n] = best - 1
                changes += 1
        if changes == 0:
            break


@kernel
def prune(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights) -> int:
    """
    Make outliers of members that raise the dimension of their cluster; return how many.

    Wrong members hide each other: without one of them the others span the same directions. So the
    point with the largest share goes first, and the best prefix of that sequence is kept.
    """
    n_motions, n_points = costs.shape
    share, gone = np.empty(n_points), np.empty(n_points, np.int64)
    counts, excess = np.zeros(n_motions), np.zeros(n_motions)
    for k in range(n_motions):
        members = followers_of(labels, costs, k, weights.core)
        counts[k] = len(members)
        excess[k] = excess_dimension(problem, members, weights, share)
    pruned = 0
    for k in range(n_motions):
        total, followers = 0.0, 0.0
        for j in range(n_motions):
            if j != k:
                total += counts[j] * excess[j]
                followers += counts[j]
        best, change, length, undone = 0.0, 0.0, 0, -1
        start = (total + counts[k] * excess[k]) / max(followers + counts[k], 1.0)
        for step in range(int(counts[k]) // 5):
            members = followers_of(labels, costs, k, weights.core)
            now = excess_dimension(problem, members, weights, share)
            mean = (total + len(members) * now) / max(followers + len(members), 1.0)
            value = change + weights.dimension * n_points * (mean - start)
            if value < best - 1e-6:
                best, length = value, step
            scale = weights.dimension * n_points / max(followers + len(members), 1.0)
            worst, gain, price = -1, 0.0, 0.0
            for n in members:
                leave = weights.outlier - robust(costs[k, n], weights)
                for e in range(problem.first[n], problem.first[n + 1]):
                    if labels[problem.neighbour[e]] == k:
                        leave += weights.smoothness * problem.bond[e]
                if scale * (share[n] + now - mean) - leave > gain:
                    worst, gain, price = n, scale * (share[n] + now - mean) - leave, leave
            if worst < 0:
                break
            labels[worst] = -1
            gone[step] = worst
            change += price
            undone = step
        for i in range(length, int(counts[k]) // 5):
            if i > undone:
                break
            labels[gone[i]] = k
        pruned += length
    return pruned


@kernel
def dissolve_small(labels: IntArray, motions: FloatArray, fixed: int, smallest: int) -> int:
    """Make outliers of motions with too few points and close the gaps, in place; return K."""
    n_motions = len(motions)
    counts, new = np.zeros(n_motions, np.int64), np.full(n_motions, -1)
    for label in labels:
        if label >= 0:
            counts[label] += 1
    kept = 0
    for k in range(n_motions):
        if counts[k] >= smallest or k < fixed:
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

    J is without the price of the motions.
    """
    n_points, n_motions = len(labels), len(motions)
    labels, motions = labels.copy(), motions.copy()
    fixed = 1 if len(problem.world) else 0
    best_labels, best_motions = labels, motions
    best_costs, best = np.empty((0, n_points)), np.inf
    for i in range(rounds + 1):
        costs, unary = np.empty((n_motions, n_points)), np.empty((n_motions + 1, n_points))
        fit_costs(problem, labels, motions, weights, 4, costs)
        excess = unary_costs(problem, labels, costs, weights, unary)
        value = energy(problem, labels, costs, excess, weights)
        if value < best - 1e-6 or n_motions < len(best_motions):
            best, best_labels, best_motions = value, labels.copy(), motions.copy()
            best_costs = costs
        elif i > loose:
            break
        if i == rounds or n_motions == 0:
            break
        relabel(problem, labels, unary, weights,
                weights.smoothness * (weights.loose if i < loose else 1.0), 4)
        n_motions = dissolve_small(labels, motions, fixed, weights.smallest)
        motions = motions[:n_motions].copy()
    if rounds > 0:
        labels = best_labels.copy()
        if prune(problem, labels, best_costs, weights) > 0:
            motions = best_motions.copy()
            costs, unary = np.empty(best_costs.shape), np.empty((len(motions) + 1, n_points))
            fit_costs(problem, labels, motions, weights, 4, costs)
            excess = unary_costs(problem, labels, costs, weights, unary)
            value = energy(problem, labels, costs, excess, weights)
            if value < best:
                return labels, motions, costs, value
    return best_labels, best_motions, best_costs, best
