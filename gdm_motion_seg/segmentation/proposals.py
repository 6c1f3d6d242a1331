# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proposals for motions: sampled neighbourhoods and clusters of flow."""

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.segmentation.constants import BOND_LEVELS, GOOD_COVER, SAMPLE, SCALES
from gdm_motion_seg.segmentation.energy import Problem


def draw_samples(near: IntArray, count: int, centres: IntArray,
                 rng: np.random.Generator) -> IntArray:
    """Draw (count, SAMPLE) indices from the neighbourhoods of given points, at several scales."""
    n = len(near)
    samples = np.empty((count, SAMPLE), np.int64)
    for i, scale in enumerate((*SCALES, n)):
        rows = np.arange(i, count, len(SCALES) + 1)
        reach = min(scale, near.shape[1])
        if scale > near.shape[1]:
            samples[rows] = rng.integers(n, size=(len(rows), SAMPLE))
            continue
        chosen = np.argsort(rng.random((len(rows), reach)), axis=1)
        chosen = np.resize(chosen, (len(rows), SAMPLE)) if reach < SAMPLE else chosen[:, :SAMPLE]
        samples[rows] = near[rng.choice(centres, len(rows))[:, None], chosen]
    return samples


def flow_clusters(problem: Problem, smallest: int) -> list[IntArray]:
    """Cut the neighbour graph where the flow differs; return the parts with enough points."""
    n = problem.rays.shape[1]
    found: dict[bytes, IntArray] = {}
    for level in BOND_LEVELS:
        part = problem.graph.groups(np.ones(n, np.bool_), level)
        counts = np.bincount(part)
        for i in np.flatnonzero((counts >= smallest) & (counts <= n // 2)):
            members = np.flatnonzero(part == i)
            found.setdefault(members.tobytes(), members)
    return list(found.values())


@kernel
def support(problem: Problem, costs: FloatArray, current: FloatArray,
            margin: float) -> FloatArray:
    """
    Sum for each proposal what it gains over the present costs, where neighbours gain with it.

    The gain of a point is averaged with that of its neighbours: many tiny gains by chance must not
    outweigh a small body.
    """
    n_points = len(current)
    gain, totals = np.empty(n_points), np.empty(len(costs))
    for h in range(len(costs)):
        for n in range(n_points):
            gain[n] = current[n] - costs[h, n]
        total = 0.0
        for n in range(n_points):
            mean, weight = gain[n], 1.0
            for e in range(problem.graph.first[n], problem.graph.first[n + 1]):
                mean += problem.graph.bond[e] * gain[problem.graph.neighbour[e]]
                weight += problem.graph.bond[e]
            total += max(0.0, mean / weight - margin)
        totals[h] = total
    return totals


@kernel
def draw_covers(gains: FloatArray, k: int, draws: FloatArray) -> IntArray:
    """
    Choose k proposals for each row of ``draws``, each of which explains much of what is left.

    ``gains`` (H, N) is what a proposal saves against the price of outliers. A proposal is drawn in
    proportion to the fourth power of its gain if that is at least GOOD_COVER of the best one's.
    """
    n_proposals, n_points = gains.shape
    chosen = np.empty((len(draws), k), np.int64)
    alone, left = np.empty(n_proposals), np.empty(n_proposals)
    for h in range(n_proposals):
        total = 0.0
        for n in range(n_points):
            total += max(gains[h, n], 0.0)
        alone[h] = total
    for row in range(len(draws)):
        covered = np.zeros(n_points)
        for i in range(k):
            for h in range(n_proposals):
                total = 0.0
                if i == 0:
                    total = alone[h]
                else:
                    for n in range(n_points):
                        total += max(gains[h, n] - covered[n], 0.0)
                left[h] = total
            best = left.max()
            weight = np.where(left >= GOOD_COVER * best, left / max(best, 1e-12), 0.0) ** 4
            sums = np.cumsum(weight)
            h = min(np.searchsorted(sums, draws[row, i] * sums[-1]), n_proposals - 1)
            chosen[row, i] = h
            for n in range(n_points):
                covered[n] = max(covered[n], gains[h, n])
    return chosen
