# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The energy of a segmentation, and the local moves that lower it; compiled.

J = sum_n U_n + lambda sum_mn w_mn [l_m != l_n] - eta sum_k n_k log(n_k / N)
    + M (a GD + b D) + sum_k (beta + gamma M (m_k / M)^delta)

U_n is the capped cost of point n under its motion, or the price of an outlier; w_mn binds
neighbours whose flow agrees; the third term is the cost of coding the labels; GD is the paper's
global dimension and D = sum_k m_k d_k / sum_k m_k the mean dimension that a point sees; the last
term is the price of the motions. GD alone cuts a dominant background into equal halves; geometry
alone cannot tell whose points a degenerate motion may claim. Dimensions are those of the m_k
points that follow their motion (cost up to ``core``): a wrong track must not lend its cluster a
dimension. M is the number of points that may follow a motion at all; with N in its place, every
outlier would make the dimensions and a further motion dearer.

The noise of a pair is not known: U_n = r_n^2 / (2 s^2) + log s with the factor s over the assumed
noise that suits the partition best. Where tracks are poor or the lens is no pinhole, s rises, and
no second motion is bought to explain what is noise.
"""

import math
from typing import NamedTuple

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.gdm.eigen import eigenvalues
from gdm_motion_seg.gdm.kernels import dimension_of_eigenvalues
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.segmentation.old_rigid import face_forward, fit_rigid, refine_rigid, rigid_cost
from gdm_motion_seg.segmentation.problem import Problem


NOISE_VARIANCES = np.array([1.0, 1.25, 1.6, 2.0, 2.5, 3.1])
"""Factors s^2 over the assumed variance of the noise that are tried."""


class Weights(NamedTuple):
    """The constants of J; a point costs 1/2 at one standard deviation of its noise."""

    cap: float = 8.0
    """Most that a point can cost its motion: 4 standard deviations."""
    outlier: float = 6.5
    """
    Price of an outlier.

    A little below the cap: what no motion explains stays only with neighbours that move alike.
    """
    smoothness: float = 2.3
    """lambda."""
    coding: float = 0.27
    """eta."""
    global_dimension: float = 0.12
    """a."""
    mean_dimension: float = 0.58
    """b."""
    motion: float = 18.0
    """beta: a motion's parameters, in nats."""
    motion_share: float = 0.55
    """
    gamma: a part of a motion has a lower dimension than the whole; a split must gain more.

    0 where the number of motions is given.
    """
    motion_power: float = 0.25
    """delta: what a split gains that way falls with the part, and so does its price."""
    core: float = 4.5
    """Cost up to which a point counts in the dimensions: 3 standard deviations."""
    epsilon: float = 0.35
    """Of the empirical dimension."""
    p: float = 15.0
    """Of the global dimension."""
    smallest: int = 6
    """Points below which a motion is dissolved."""


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
def fit_motion(problem: Problem, labels: IntArray, k: int, rotations: FloatArray, ts: FloatArray,
               weights: Weights) -> None:
    """Fit motion k to its points from nowhere, in place."""
    members = members_of(labels, k)
    if len(members):
        fit_rigid(rotations[k], ts[k], problem.y1, problem.y2, members, problem.precision,
                  weights.cap)
    else:
        rotations[k] = np.eye(3)
        ts[k] = np.array([1.0, 0.0, 0.0])


@kernel
def fit_motions(problem: Problem, labels: IntArray, rotations: FloatArray, ts: FloatArray,
                weights: Weights) -> None:
    """Fit every motion to its points from nowhere, in place."""
    for k in range(len(rotations)):
        fit_motion(problem, labels, k, rotations, ts, weights)


@kernel
def refine_motions(problem: Problem, labels: IntArray, rotations: FloatArray, ts: FloatArray,
                   iterations: int) -> None:
    """Refine every motion on its points, in place."""
    for k in range(len(rotations)):
        members = members_of(labels, k)
        if len(members) >= 5:
            refine_rigid(rotations[k], ts[k], problem.y1, problem.y2, members, problem.precision,
                         iterations)


@kernel
def point_costs(problem: Problem, labels: IntArray, rotations: FloatArray, ts: FloatArray,
                weights: Weights) -> FloatArray:
    """
    Compute the cost (K, N) of every point under every motion.

    The members of a motion choose the sign of its t, all points with a label the factor of noise.
    """
    n = len(problem.y1)
    costs, mirrored = np.empty((len(rotations), n)), np.empty(n)
    for k in range(len(rotations)):
        rigid_cost(rotations[k], ts[k], problem.y1, problem.y2, problem.precision, costs[k],
                   mirrored)
        face_forward(ts[k], costs[k], mirrored, members_of(labels, k), weights.cap)
    variance = _noise_variance(labels, costs, weights.cap)
    return costs / variance + 0.5 * math.log(variance)


@kernel
def _noise_variance(labels: IntArray, costs: FloatArray, cap: float) -> float:
    """Return the factor s^2 with the lowest sum of capped costs."""
    sums = np.zeros(len(NOISE_VARIANCES))
    offsets = 0.5 * np.log(NOISE_VARIANCES)
    for n in range(len(labels)):
        if labels[n] >= 0:
            cost = costs[labels[n], n]
            for i in range(len(sums)):
                sums[i] += min(cost / NOISE_VARIANCES[i] + offsets[i], cap)
    return NOISE_VARIANCES[sums.argmin()]


@kernel
def _local_costs(problem: Problem, labels: IntArray, costs: FloatArray, counts: FloatArray,
                 weights: Weights, smoothness: float, n: int, local: FloatArray) -> None:
    """Write what label -1, 0, 1, ... would cost point n, dimensions aside."""
    own = labels[n] + 1
    local[0] = weights.outlier
    for k in range(len(costs)):
        local[k + 1] = min(costs[k, n], weights.cap)
    for e in range(problem.first[n], problem.first[n + 1]):
        local[labels[problem.neighbour[e]] + 1] -= smoothness * problem.bond[e]
    for k in range(len(local)):
        others = counts[k] - (1.0 if k == own else 0.0)
        local[k] += weights.coding * problem.coding[int(others)]


@kernel
def relabel(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
            smoothness: float, sweeps: int) -> None:
    """Give point after point its cheapest label, dimensions aside, until none changes."""
    n_motions, n_points = costs.shape
    counts, local = np.zeros(n_motions + 1), np.empty(n_motions + 1)
    for label in labels:
        counts[label + 1] += 1.0
    for _ in range(sweeps):
        changes = 0
        for n in range(n_points):
            _local_costs(problem, labels, costs, counts, weights, smoothness, n, local)
            best = labels[n] + 1
            for k in range(n_motions + 1):
                if local[k] < local[best] - 1e-9:
                    best = k
            if best != labels[n] + 1:
                counts[labels[n] + 1] -= 1.0
                counts[best] += 1.0
                labels[n] = best - 1
                changes += 1
        if changes == 0:
            break


@kernel
def dissolve_small(labels: IntArray, rotations: FloatArray, ts: FloatArray, smallest: int) -> int:
    """Make outliers of motions with too few points and close the gaps, in place; return K."""
    n_motions = len(rotations)
    counts = np.zeros(n_motions, np.int64)
    for label in labels:
        if label >= 0:
            counts[label] += 1
    new = np.full(n_motions, -1)
    kept = 0
    for k in range(n_motions):
        if counts[k] >= smallest:
            new[k] = kept
            rotations[kept] = rotations[k]
            ts[kept] = ts[k]
            kept += 1
    for n in range(len(labels)):
        if labels[n] >= 0:
            labels[n] = new[labels[n]]
    return kept


@kernel
def relax(problem: Problem, labels: IntArray, rotations: FloatArray, ts: FloatArray,
          weights: Weights, smoothness: float, rounds: int) -> tuple[int, FloatArray]:
    """Refit and relabel in turn until nothing changes, in place; return K and the costs."""
    n_motions = len(rotations)
    before = labels.copy()
    for _ in range(rounds):
        refine_motions(problem, labels, rotations[:n_motions], ts[:n_motions], 5)
        costs = point_costs(problem, labels, rotations[:n_motions], ts[:n_motions], weights)
        relabel(problem, labels, costs, weights, smoothness, 5)
        left = dissolve_small(labels, rotations[:n_motions], ts[:n_motions], weights.smallest)
        same = left == n_motions
        for n in range(len(labels)):
            same = same and labels[n] == before[n]
            before[n] = labels[n]
        n_motions = left
        if same or n_motions == 0:
            break
    costs = point_costs(problem, labels, rotations[:n_motions], ts[:n_motions], weights)
    return n_motions, costs


@kernel
def _add_square(gram: FloatArray, vector: FloatArray, sign: float) -> None:
    for i in range(len(vector)):
        for j in range(i + 1):
            gram[i, j] += sign * vector[i] * vector[j]


@kernel
def _dimension(gram: FloatArray, work: FloatArray, values: FloatArray, off: FloatArray,
               epsilon: float) -> float:
    eigenvalues(gram, work, values, off)
    return dimension_of_eigenvalues(values, epsilon, 0.0)


@kernel
def _motions_term(dims: FloatArray, sizes: FloatArray, inliers: float, weights: Weights) -> float:
    """Compute M (a GD + b D) and the price of the motions."""
    power, mean, total, price = 0.0, 0.0, 0.0, 0.0
    for k in range(len(dims)):
        power += dims[k] ** weights.p
        mean += sizes[k] * dims[k]
        total += sizes[k]
        price += (weights.motion + weights.motion_share * inliers
                  * (sizes[k] / inliers) ** weights.motion_power)
    if total == 0.0:
        return price
    return price + inliers * (weights.global_dimension * power ** (1.0 / weights.p)
                              + weights.mean_dimension * mean / total)


@kernel
def energy(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights) -> float:
    """Compute J."""
    n_motions, n_points = costs.shape
    d = problem.vectors.shape[1]
    counts, sizes = np.zeros(n_motions + 1), np.zeros(n_motions)
    grams = np.zeros((n_motions, d, d))
    total, cut = 0.0, 0.0
    for n in range(n_points):
        k = labels[n]
        counts[k + 1] += 1.0
        if k < 0:
            total += weights.outlier
        else:
            total += min(costs[k, n], weights.cap)
            if costs[k, n] <= weights.core:
                sizes[k] += 1.0
                _add_square(grams[k], problem.vectors[n], 1.0)
        for e in range(problem.first[n], problem.first[n + 1]):
            if labels[problem.neighbour[e]] != k:
                cut += 0.5 * problem.bond[e]
    for count in counts:
        if count > 0.0:
            total -= weights.coding * count * math.log(count / n_points)
    work, values, off, dims = np.empty((d, d)), np.empty(d), np.empty(d), np.zeros(n_motions)
    for k in range(n_motions):
        dims[k] = _dimension(grams[k], work, values, off, weights.epsilon)
    return (total + weights.smoothness * cut
            + _motions_term(dims, sizes, problem.inliers, weights))


@kernel
def move_points(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                sweeps: int, reach: float) -> int:
    """
    Move single points while that lowers J, and return the moves: the paper's reassignment on J.

    A rank-one change of a Gram matrix and an eigenproblem a move; labels that cost ``reach`` more
    than the present one, dimensions aside, are not tried.
    """
    n_motions, n_points = costs.shape
    d = problem.vectors.shape[1]
    counts, local = np.zeros(n_motions + 1), np.empty(n_motions + 1)
    grams, sizes, dims = np.zeros((n_motions, d, d)), np.zeros(n_motions), np.zeros(n_motions)
    for n in range(n_points):
        k = labels[n]
        counts[k + 1] += 1.0
        if k >= 0 and costs[k, n] <= weights.core:
            sizes[k] += 1.0
            _add_square(grams[k], problem.vectors[n], 1.0)
    work, values, off = np.empty((d, d)), np.empty(d), np.empty(d)
    for k in range(n_motions):
        dims[k] = _dimension(grams[k], work, values, off, weights.epsilon)
    moves = 0
    for _ in range(sweeps):
        changes = 0
        for n in range(n_points):
            own = labels[n]
            if own >= 0 and counts[own + 1] <= weights.smallest:
                continue
            _local_costs(problem, labels, costs, counts, weights, weights.smoothness, n, local)
            here = local[own + 1]
            hopeless = True
            for k in range(n_motions + 1):
                hopeless = hopeless and (k == own + 1 or local[k] - here >= reach)
            if hopeless:
                continue
            vector = problem.vectors[n]
            now = _motions_term(dims, sizes, problem.inliers, weights)
            own_dim = 0.0
            counted = own >= 0 and costs[own, n] <= weights.core
            if own >= 0:
                own_dim = dims[own]
            if counted:
                _add_square(grams[own], vector, -1.0)
                sizes[own] -= 1.0
                dims[own] = _dimension(grams[own], work, values, off, weights.epsilon)
            best, best_change, best_dim = own, -1e-9, 0.0
            for k in range(n_motions + 1):
                if k == own + 1 or local[k] - here >= reach:
                    continue
                target = k - 1
                old_dim, joins = 0.0, target >= 0 and costs[target, n] <= weights.core
                if joins:
                    old_dim = dims[target]
                    _add_square(grams[target], vector, 1.0)
                    sizes[target] += 1.0
                    dims[target] = _dimension(grams[target], work, values, off, weights.epsilon)
                change = (local[k] - here
                          + _motions_term(dims, sizes, problem.inliers, weights) - now)
                if change < best_change:
                    best, best_change = target, change
                    best_dim = dims[target] if target >= 0 else 0.0
                if joins:
                    _add_square(grams[target], vector, -1.0)
                    sizes[target] -= 1.0
                    dims[target] = old_dim
            if best == own:
                if counted:
                    _add_square(grams[own], vector, 1.0)
                    sizes[own] += 1.0
                    dims[own] = own_dim
                continue
            if best >= 0 and costs[best, n] <= weights.core:
                _add_square(grams[best], vector, 1.0)
                sizes[best] += 1.0
                dims[best] = best_dim
            counts[own + 1] -= 1.0
            counts[best + 1] += 1.0
            labels[n] = best
            changes += 1
        moves += changes
        if changes == 0:
            break
    return moves


@kernel
def settle(problem: Problem, labels: IntArray, rotations: FloatArray, ts: FloatArray,
           weights: Weights, rounds: int, reach: float) -> tuple[FloatArray, float]:
    """Move points on J and refit while J falls, in place; return the costs and J."""
    costs = point_costs(problem, labels, rotations, ts, weights)
    best = energy(problem, labels, costs, weights)
    for _ in range(rounds):
        trial, r, t = labels.copy(), rotations.copy(), ts.copy()
        if move_points(problem, trial, costs, weights, 3, reach) == 0:
            break
        refine_motions(problem, trial, r, t, 5)
        trial_costs = point_costs(problem, trial, r, t, weights)
        value = energy(problem, trial, trial_costs, weights)
        if value >= best:
            break
        best = value
        labels[:] = trial
        rotations[:] = r
        ts[:] = t
        costs = trial_costs
    return costs, best
