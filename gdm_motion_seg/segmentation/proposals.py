# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proposals for motions: samples, clusters of flow, and covers of the points by them."""

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.segmentation.constants import BOND_LEVELS, SAME, SAMPLE, SCALES, SMALLEST
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.segmentation.labelling import Blocks


def draw_samples(tree: cKDTree, count: int, rng: np.random.Generator) -> IntArray:
    """Draw (count, SAMPLE) indices from the neighbourhoods of points, at several scales."""
    samples = rng.integers(tree.n, size=(count, SAMPLE))
    for i, scale in enumerate(SCALES):
        rows, reach = slice(i, count, len(SCALES) + 1), min(scale, tree.n)
        near = tree.query(tree.data[samples[rows, 0]], k=reach)[1]
        samples[rows] = rng.permuted(near.reshape(-1, reach), axis=1)[:, :SAMPLE]
    return samples


def flow_clusters(graph: Graph) -> Blocks:
    """Cut the neighbour graph where the flow differs; return the parts with enough points."""
    n = len(graph.first) - 1
    found: dict[bytes, IntArray] = {}
    for level in BOND_LEVELS:
        part = graph.groups(np.ones(n, np.bool_), level)
        counts = np.bincount(part)
        for i in np.flatnonzero((counts >= SMALLEST) & (counts <= n // 2)):
            members = np.flatnonzero(part == i)
            found.setdefault(members.tobytes(), members)
    return Blocks(np.cumsum([0, *map(len, found.values())]),
                  np.concatenate([np.empty(0, np.int64), *found.values()]))


@kernel
def draw_covers(gains: FloatArray, k: int, draws: FloatArray) -> tuple[IntArray, FloatArray]:
    """
    Choose k proposals for each row of ``draws``, each of which explains much of what is left.

    ``gains`` (H, N) is what a proposal saves. Of a few proposals that are drawn at random, the one
    that gains most is taken. Returns the choices (C, k) and what each of them gains in all.
    """
    n_proposals, n_points = gains.shape
    n_covers, few = len(draws), draws.shape[1] // k
    chosen, totals = np.empty((n_covers, k), np.int64), np.zeros(n_covers)
    covered = np.empty(n_points)
    for c in range(n_covers):
        for n in range(n_points):
            covered[n] = 0.0
        for j in range(k):
            best, best_gain = 0, -1.0
            for i in range(few):
                h = int(draws[c, j * few + i] * n_proposals)
                gain = 0.0
                for n in range(n_points):
                    gain += max(0.0, gains[h, n] - covered[n])
                if gain > best_gain:
                    best, best_gain = h, gain
            chosen[c, j] = best
            totals[c] += best_gain
            for n in range(n_points):
                covered[n] = max(covered[n], gains[best, n])
    return chosen, totals


@kernel
def choose_different(claims: Mask, smoothed: FloatArray, present: FloatArray,
                     most: int) -> IntArray:
    """
    Choose the proposals that gain most, none of which claims almost the same points as another.

    ``claims`` (H, N) are the points that a proposal would take over. The gain is counted in
    ``smoothed`` costs (H, N) against the ``present`` ones (N,): a point that gains alone says
    little.
    """
    gains = np.zeros(len(claims))
    for h in range(len(claims)):
        for n in range(len(present)):
            gains[h] += max(present[n] - smoothed[h, n], 0.0)
    chosen, count = np.empty(most, np.int64), 0
    for h in np.argsort(-gains):
        alike = False
        for other in chosen[:count]:
            both, either = 0, 0
            for n in range(len(present)):
                both += claims[h, n] and claims[other, n]
                either += claims[h, n] or claims[other, n]
            alike = alike or both > SAME * either
        if not alike:
            chosen[count] = h
            count += 1
        if count == most:
            break
    return chosen[:count]
