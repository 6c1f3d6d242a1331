# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The search for the partition of lowest energy: propose, assign, refit, add, merge, drop.

It keeps the best partition of every number of motions. Adding a proposal to the best one of K
motions offers a partition of K + 1; merging two of its motions, or dropping one, offers one of
K - 1. Covers of the points by several proposals at once are tried too: a search that adds one
motion after the other may begin with a mixture.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import math
import time

import numpy as np
from scipy.spatial import cKDTree

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import fit_rigid, rigid_costs
from gdm_motion_seg.geometry.rigid_samples import fit_rigid_samples, refine_on_inliers
from gdm_motion_seg.segmentation.constants import (
    BATCH, BATCHES, COVERED, COVERS, CYCLES, DRAWN, MARGIN, SAME, TRIED, Weights)
from gdm_motion_seg.segmentation.energy import descend, Problem, prune
from gdm_motion_seg.segmentation.proposals import draw_covers, draw_samples, smoothed

MISSED = 1e6
"""Price in nats, above everything else, of a number of motions that is not allowed."""


@dataclass(frozen=True)
class Partition:
    """A partition with the motions that were fitted to it."""

    labels: IntArray
    motions: FloatArray
    """(K, 4, 3): R with t below it."""
    costs: FloatArray
    """(K, N) cost of every point under every motion, in nats."""
    energy: float
    """J without the price of the motions, which its user adds."""

    @property
    def n_motions(self) -> int:
        """Count the motions."""
        return len(self.motions)


Trial = tuple[IntArray, FloatArray]
"""Labels and motions from which a descent starts."""


class Solver:
    """
    Searches the motions of one pair.

    Parameters
    ----------
    problem : Problem
        The pair.
    weights : Weights
        Of the energy.
    rng : numpy Generator
        Draws the samples; same state, same partition.
    n_motions, max_motions : int
        The number of motions, 0 to find it, and the largest number that may be found.
    effort : float
        Share of the samples that are drawn.
    deadline : float
        ``time.perf_counter()`` at which the best partition so far is returned.

    """

    def __init__(self, problem: Problem, weights: Weights, rng: np.random.Generator,
                 n_motions: int = 0, max_motions: int = 6, effort: float = 1.0,
                 deadline: float = math.inf) -> None:
        """Take the problem; nothing is computed yet."""
        self._problem, self._weights, self._rng = problem, weights, rng
        self._n_motions, self._max_motions = n_motions, max_motions
        self._effort, self._deadline = effort, deadline
        self._n = problem.rays.shape[1]
        self._tree = cKDTree(problem.rays.T)
        self._motions = np.empty((0, 4, 3))
        self._costs, self._smoothed = np.empty((2, 0, self._n))
        self._pace = 0.0
        self._best: dict[int, Partition] = {}
        self._reduced: dict[int, Partition] = {}
        self._extended: dict[int, tuple[Partition, int]] = {}
        self.was_short = False
        """Whether the deadline ended the search."""

    def partition(self) -> Partition:
        """Find the partition of lowest energy."""
        self._propose(self._fitted_blocks())
        self._propose_samples(BATCHES, np.arange(self._n))
        self._offer(self._descended(np.full(self._n, -1), np.empty((0, 4, 3)), 0, 0))
        self._add_motions()
        for k in sorted({*COVERED, self._n_motions} - {0, 1}):
            self._try(self._covers(k), 1)
        for cycle in range(CYCLES):
            before = self._value(self.answer)
            self._add_motions()
            self._remove_motions()
            if self._value(self.answer) >= before - 1e-6 and cycle > 0:
                break
            unexplained = self._unexplained()
            if cycle < CYCLES - 1 and len(unexplained) >= self._weights.smallest:
                self._propose_samples(1, unexplained)
        for k in list(self._best):
            self._refit(k)
        self._prune(self.answer.n_motions)
        return self.answer

    @property
    def answer(self) -> Partition:
        """Return the best partition so far."""
        some = [p for p in self._best.values() if p.n_motions] or list(self._best.values())
        return min(some, key=self._value)

    def _value(self, partition: Partition) -> float:
        """Return J with the price of the motions."""
        k = partition.n_motions
        if self._n_motions:
            return partition.energy + MISSED * abs(k - self._n_motions)
        return (partition.energy + self._weights.motion * k
                + MISSED * max(0, k - self._max_motions))

    def _in_time(self, seconds: float = 0.0) -> bool:
        """Tell whether a step of that length, by default a descent, still fits."""
        fits = time.perf_counter() + (seconds or self._pace) < self._deadline
        self.was_short = self.was_short or not fits
        return fits

    def _descended(self, labels: IntArray, motions: FloatArray, rounds: int,
                   loose: int) -> Partition:
        """Descend from labels and motions, and take the time."""
        begin = time.perf_counter()
        found = Partition(*descend(self._problem, labels.astype(np.int64), motions, self._weights,
                                   rounds, loose))
        self._pace = max(0.9 * self._pace, time.perf_counter() - begin)
        return found

    def _offer(self, trial: Partition) -> None:
        """Keep a partition if it is the best of its number of motions."""
        known = self._best.get(trial.n_motions)
        if known is None or trial.energy < known.energy - 1e-6:
            self._best[trial.n_motions] = trial

    def _propose_samples(self, batches: int, centres: IntArray) -> None:
        """Fit motions to samples near the centres, batch by batch while there is time."""
        p, seconds = self._problem, 0.0
        for _ in range(max(1, round(self._effort * batches))):
            if len(self._motions) and not self._in_time(3.0 * seconds + self._pace):
                return
            begin = time.perf_counter()
            samples = draw_samples(self._tree, BATCH, centres, self._rng)
            self._propose(fit_rigid_samples(p.rays, p.precision, samples, self._weights.outlier))
            seconds = time.perf_counter() - begin

    def _fitted_blocks(self) -> FloatArray:
        """Fit a motion to every cluster of like flow."""
        p = self._problem
        first, points = p.blocks
        motions = np.empty((len(first) - 1, 4, 3))
        for motion, begin, end in zip(motions, first, first[1:]):
            fit_rigid(motion, p.rays, points[begin:end], p.precision, self._weights.outlier)
        return motions

    def _propose(self, motions: FloatArray) -> None:
        """Refine motions on what they explain, and keep them as proposals."""
        p, cap, everyone = self._problem, self._weights.outlier, np.arange(self._n)
        costs = rigid_costs(motions, p.rays, p.precision, everyone, cap)
        refine_on_inliers(motions, p.rays, p.precision, costs, 0.5 * self._weights.core)
        costs = rigid_costs(motions, p.rays, p.precision, everyone, cap)
        self._motions = np.concatenate([self._motions, motions])
        self._costs = np.concatenate([self._costs, costs])
        self._smoothed = np.concatenate([self._smoothed, smoothed(p.graph, costs)])

    def _present_costs(self, current: Partition) -> FloatArray:
        """Return what each point costs under its label, at most the price of an outlier."""
        own = np.full(self._n, self._weights.outlier)
        kept = np.flatnonzero(current.labels >= 0)
        own[kept] = np.minimum(current.costs[current.labels[kept], kept], own[kept])
        return own

    def _unexplained(self) -> IntArray:
        """List the points that follow no motion of the answer."""
        return np.flatnonzero(self._present_costs(self.answer) > self._weights.core)

    def _add_motions(self) -> None:
        """Add proposals to the best partitions, from one motion below the answer on."""
        k = max(0, min(self.answer.n_motions, self._n_motions or self._n) - 1)
        while k in self._best and k < self._most():
            self._try(self._with_proposals(self._best[k]), 1)
            k += 1

    def _most(self) -> int:
        """Return the number of motions beyond which none are added."""
        if self._n_motions:
            return self._n_motions + 2
        return min(self.answer.n_motions + 2, self._max_motions)

    def _with_proposals(self, current: Partition) -> Iterator[Trial]:
        """Add one of the proposals that gain most, none of them like another."""
        own, k = self._present_costs(current), current.n_motions
        known, first = self._extended.get(k, (None, 0))
        first = first if known is current else 0
        self._extended[k] = current, len(self._motions)
        left = smoothed(self._problem.graph, own[None]) - MARGIN
        gains = np.maximum(left - self._smoothed[first:], 0.0).sum(axis=1)
        claims: list[FloatArray] = []
        for h in first + np.argsort(-gains, kind='stable'):
            if gains[h - first] <= 0.0 or len(claims) == TRIED:
                break
            claim = self._costs[h] < own - MARGIN
            if any((claim & c).sum() > SAME * (claim | c).sum() for c in claims):
                continue
            claims.append(claim)
            yield (np.where(claim, current.n_motions, current.labels),
                   np.concatenate([current.motions, self._motions[h:h + 1]]))

    def _covers(self, k: int) -> Iterator[Trial]:
        """Cover the points by k proposals, each of which explains much of what is left."""
        count = max(1, round(self._effort * COVERS))
        chosen, gains = draw_covers(self._weights.outlier - self._costs, k,
                                    self._rng.random((DRAWN * count, k * COVERS)))
        chosen, first = np.unique(np.sort(chosen, axis=1), axis=0, return_index=True)
        for cover in chosen[np.argsort(-gains[first], kind='stable')[:count]]:
            own = self._costs[cover]
            labels = np.where(own.min(axis=0) < self._weights.outlier, own.argmin(axis=0), -1)
            yield labels, self._motions[cover]

    def _remove_motions(self) -> None:
        """Merge or drop motions of the best partition of every number of motions."""
        for k in sorted(self._best, reverse=True):
            if self._reduced.get(k) is not self._best[k]:
                self._reduced[k] = self._best[k]
                self._try(self._with_one_less(self._best[k]), 0)

    def _try(self, trials: Iterator[Trial], rounds: int) -> None:
        """Descend a little from every trial, and in full from the best of them."""
        screened: list[Partition] = []
        for trial in trials:
            # At least one motion is tried, however short the time.
            if not self._in_time() and (screened or len(self._best) > 1):
                break
            screened.append(self._descended(*trial, rounds, rounds))
        if screened:
            best = min(screened, key=lambda c: c.energy)
            self._offer(best)
            if self._in_time():
                self._offer(self._descended(best.labels, best.motions, 4, 1))

    def _refit(self, k: int) -> None:
        """Fit the motions of the best partition of k motions anew."""
        p, known = self._problem, self._best[k]
        motions = known.motions.copy()
        for i, motion in enumerate(motions):
            fit_rigid(motion, p.rays, np.flatnonzero(known.labels == i), p.precision,
                      self._weights.outlier)
        if self._in_time():
            self._offer(self._descended(known.labels, motions, 1, 0))

    def _prune(self, k: int) -> None:
        """Remove wrong members from the best partition of k motions."""
        before = None
        while self._in_time() and self._best[k] is not before:
            before = self._best[k]
            labels = before.labels.copy()
            if prune(self._problem, labels, before.costs, self._weights):
                self._offer(self._descended(labels, before.motions, 0, 0))

    def _with_one_less(self, current: Partition) -> Iterator[Trial]:
        """Make outliers of each motion, or members of each other one."""
        for k in range(current.n_motions):
            labels = np.where(current.labels == k, -1, current.labels - (current.labels > k))
            motions = np.delete(current.motions, k, axis=0)
            if len(motions):
                yield labels, motions
            for j in range(k):
                yield np.where(current.labels == k, j, labels), motions
