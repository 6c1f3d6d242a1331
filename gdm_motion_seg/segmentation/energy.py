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
from gdm_motion_seg.segmentation.constants import SMALLEST, Weights
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.segmentation.labelling import (
    Blocks, label_costs, labelling_energy, relabel, relabel_blocks)

PRUNE_STEPS = 3
"""Members that leave in a row, at most, before one of them must have lowered J."""


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
    for _ in range(4):
        total, count = 0.0, 0
        for n in range(len(labels)):
            if labels[n] >= 0:
                cost = costs[labels[n], n]
                total += 2.0 * cost / (1.0 + cost / (weights.core * variance))
                count += 1
        variance = min(max(total / max(count, 1), 1.0), weights.most_noise)
    for k in range(len(costs)):
        for n in range(len(labels)):
            costs[k, n] = costs[k, n] / variance + 0.5 * math.log(variance)


@kernel
def mean_dimension(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                   cap: float, share: FloatArray) -> float:
    """
    Return the mean excess dimension; write each point's share (K, N) in that of each motion.

    Only points that follow their motion count in its dimension. A share is the change of N times
    the mean if the point joins the motion. It is an estimate: at most ``cap`` dimensions count.
    Where no share is needed, ``share`` is (K, 0).
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
            capped = max(-cap, min(share[k, n], cap))
            share[k, n] = (capped + excess[k] - mean) * len(labels) / max(followers, 1)
    return mean


@kernel
def partition_energy(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights,
                     cap: float, unary: FloatArray) -> float:
    """
    Return J without the price of the motions; write the cost (K + 1, N) of each label.

    That cost is of data and shares in the dimensions; row 0 is that of outliers. With a cap of 0
    it is that of the data alone.
    """
    n_points, counts = len(labels), np.zeros(len(unary))
    share = np.empty((len(costs), n_points if cap > 0.0 else 0))
    mean = mean_dimension(problem, labels, costs, weights, cap, share)
    energy = weights.dimension * n_points * mean
    for n in range(n_points):
        unary[0, n] = weights.outlier
        for k in range(len(costs)):
            unary[k + 1, n] = heavy_tailed(costs[k, n], weights.core)
        counts[labels[n] + 1] += 1.0
    energy += labelling_energy(problem.graph, labels, unary, weights.smoothness)
    for k in range(len(costs)):
        energy += weights.size * (n_points - counts[0]) ** 0.75 * counts[k + 1] ** 0.25
        for n in range(share.shape[1]):
            if costs[k, n] <= weights.core:
                unary[k + 1, n] += weights.dimension * share[k, n]
    return energy


@kernel
def prune(problem: Problem, labels: IntArray, costs: FloatArray, weights: Weights) -> IntArray:
    """
    Make outliers of members that raise the dimension of their cluster; return the labels.

    Wrong members hide each other: without one of them the others span the same directions. So
    members leave one by one, the worst first, and the best labels of that sequence are kept.
    """
    unary, own = np.empty((len(costs) + 1, len(labels))), np.empty(len(costs) + 1)
    labels, kept = labels.copy(), labels
    best, left = np.inf, 0
    while left <= PRUNE_STEPS:
        energy = partition_energy(problem, labels, costs, weights, np.inf, unary)
        if energy < best - 1e-6:
            best, kept, left = energy, labels.copy(), 0
        worst, gain = -1, 0.0
        for n in range(len(labels)):
            if labels[n] >= 0:
                label_costs(problem.graph, labels, unary, weights.smoothness, len(unary), n, own)
                if own[labels[n] + 1] - own[0] > gain:
                    worst, gain = n, own[labels[n] + 1] - own[0]
        if worst < 0:
            break
        labels[worst] = -1
        left += 1
    return kept


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
            rounds: int) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """
    Refit and relabel in turn while J falls; return labels, motions, costs and J.

    The first round has a share of the smoothness only, and the second is tried where J rises. J is
    without the price of the motions; motions may vanish.
    """
    labels, motions = labels.copy(), motions.copy()
    best_labels, best_motions = labels, motions
    best_costs, best = np.empty((len(motions), len(labels))), np.inf
    for i in range(rounds + 1):
        costs = np.empty((len(motions), len(labels)))
        fit_costs(problem, labels, motions, weights.outlier, costs)
        scale_noise(labels, costs, weights)
        unary = np.empty((len(motions) + 1, len(labels)))
        cap = 1.0 if i < rounds else 0.0
        value = partition_energy(problem, labels, costs, weights, cap, unary)
        better = value < best - 1e-6 or len(motions) < len(best_motions)
        if better:
            best, best_labels, best_motions = value, labels.copy(), motions.copy()
            best_costs = costs
        if i == rounds or (i > 1 and not better) or len(motions) == 0:
            break
        smoothness = weights.smoothness * (weights.loose if i == 0 else 1.0)
        relabel(problem.graph, labels, unary, smoothness, len(unary), 4)
        if i > 0:
            relabel_blocks(problem.graph, problem.blocks, labels, unary, smoothness)
        motions = motions[:dissolve_small(labels, motions, SMALLEST)].copy()
    return best_labels, best_motions, best_costs, best
