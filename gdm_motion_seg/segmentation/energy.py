# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The energy of a partition of a pair into motions and outliers, and its descent; compiled.

    J = sum_n U_n(l_n)                                   data, in nats
      + lambda sum_mn w_mn [l_m != l_n or outlier]       coherence of neighbours
      + kappa N sum_k w_k (d_k - c s_k)                  the paper's dimensions
      + sum_k (beta + gamma M^3/4 n_k^1/4)               price of the motions

The first two terms are those of ``labelling``. d_k is the empirical dimension (the paper's d-hat)
of the points of cluster k, embedded as x (x) x', and w_k its share of the points: of the family
(sum_k w_k d_k^p)^(1/p) it is p = 1. s_k is the dimension of the places x' (x) x' alone (see
``gdm.excess``). What else a split gains by chance is paid for by gamma, with M the inliers: a
small body costs little.
"""

import math
from typing import NamedTuple

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inlined, kernel
from gdm_motion_seg.gdm.excess import excess_dimension
from gdm_motion_seg.geometry.rigid import copy, face_forward, refine_rigid, rigid_cost
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.segmentation.labelling import Blocks, cut_bonds, relabel, relabel_blocks

NOISE_STEPS = 4
"""Steps of the fixed-point iteration for the noise."""
PRUNE_STEPS = 5
"""Members that leave a cluster in a row, at most, before one of them must have lowered J."""


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
    blocks: Blocks
    """Clusters of like flow."""


@inlined
def heavy_tailed(cost: float, tail: float) -> float:
    """Return the nats of Student's t for those of a normal distribution."""
    return tail * math.log(1.0 + cost / tail)


@kernel
def data_term(labels: IntArray, costs: FloatArray, weights: Weights) -> float:
    """Return the data term of J."""
    total = 0.0
    for n in range(len(labels)):
        total += (weights.outlier if labels[n] < 0 else
                  heavy_tailed(costs[labels[n], n], weights.tail))
    return total


@kernel
def price_of_sizes(labels: IntArray, n_motions: int, weights: Weights) -> float:
    """Return the term of gamma."""
    counts, total = np.zeros(n_motions + 1), 0.0
    for label in labels:
        counts[label + 1] += 1.0
    for k in range(1, n_motions + 1):
        total += weights.size * (len(labels) - counts[0]) ** 0.75 * counts[k] ** 0.25
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
def mean_dimension(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                   share: FloatArray) -> float:
    """
    Return the mean excess dimension; write each point's share in that of each motion.

    Only points that follow their motion count in its dimension. ``share`` is (K, N), or (K, 0) if
    the shares are not needed. A share is the change of N times the mean if the point joins the
    motion; it is capped, because it is an estimate.
    """
    total, followers = 0.0, 0
    excess = np.empty(len(costs))
    for k in range(len(costs)):
        members = members_of(labels, k, costs[k], weights.core)
        excess[k] = excess_dimension(problem.vectors, problem.places, members, weights.epsilon,
                                     weights.null, share[k])
        total += len(members) * excess[k]
        followers += len(members)
    mean = total / max(followers, 1)
    for k in range(len(costs)):
        for n in range(share.shape[1]):
            capped = max(-weights.share_cap, min(share[k, n], weights.share_cap))
            share[k, n] = (capped + excess[k] - mean) * len(labels) / max(followers, 1)
    return mean


@kernel
def unary_costs(costs: FloatArray, share: FloatArray, weights: Weights) -> FloatArray:
    """Return the cost (K + 1, N) of each label: data and shares in the dimensions; 0 outliers."""
    n_motions, n_points = costs.shape
    unary = np.empty((n_motions + 1, n_points))
    for n in range(n_points):
        unary[0, n] = weights.outlier
        for k in range(n_motions):
            unary[k + 1, n] = heavy_tailed(costs[k, n], weights.tail)
            if costs[k, n] <= weights.core:
                unary[k + 1, n] += weights.dimension * share[k, n]
    return unary


@kernel
def _worst_member(problem: Problem, labels: IntArray, costs: FloatArray, members: IntArray,
                  share: FloatArray, scale: float, weights: Weights) -> tuple[int, float]:
    """Return the member that should leave first and what that costs, dimensions aside; or -1."""
    worst, gain, price = -1, 0.0, 0.0
    for n in members:
        k = labels[n]
        leave = weights.outlier - heavy_tailed(costs[k, n], weights.tail)
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
        for step in range(int(counts[k])):
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
            if worst < 0 or step == kept + PRUNE_STEPS:
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
        fit_costs(problem, labels, motions, weights.outlier, costs)
        scale_noise(labels, costs, weights)
        share = np.empty((n_motions, n_points if i < rounds else 0))
        dimension = mean_dimension(problem, labels, costs, weights, share)
        value = weights.dimension * n_points * dimension
        value += data_term(labels, costs, weights)
        value += weights.smoothness * cut_bonds(problem.graph, labels)
        value += price_of_sizes(labels, n_motions, weights)
        better = value < best - 1e-6 or n_motions < len(best_motions)
        if better:
            best, best_labels, best_motions = value, labels.copy(), motions.copy()
            best_costs = costs
        if i == rounds or (i > loose and not better) or n_motions == 0:
            break
        smoothness = weights.smoothness * (weights.loose if i < loose else 1.0)
        unary = unary_costs(costs, share, weights)
        relabel(problem.graph, labels, unary, smoothness, n_motions + 1, 4)
        if relabel_blocks(problem.graph, problem.blocks, labels, unary, smoothness):
            relabel(problem.graph, labels, unary, smoothness, n_motions + 1, 4)
        n_motions = dissolve_small(labels, motions, weights.smallest)
        motions = motions[:n_motions].copy()
    return best_labels, best_motions, best_costs, best
