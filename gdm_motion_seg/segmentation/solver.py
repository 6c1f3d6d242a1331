# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The search for the partition of lowest energy: propose, cover, then add, merge and drop motions.

It keeps the best partition of every number of motions, and expands the one of lowest energy that
has not been expanded yet: adding a proposal to one of K motions offers a partition of K + 1;
merging two of its motions, or dropping one, offers one of K - 1. It starts from covers of the
points by several proposals at once: a search that adds one motion after the other may begin with a
mixture.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
import math
import time
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import fit_rigid, rigid_costs
from gdm_motion_seg.geometry.rigid_samples import refine_on_inliers
from gdm_motion_seg.segmentation.constants import BATCH, BATCHES, MARGIN, TRIALS, Weights
from gdm_motion_seg.segmentation.energy import descend, Problem, prune
from gdm_motion_seg.segmentation.proposals import choose_different, draw_covers, draw_samples

MISSED = 1e6
"""Price in nats, above everything else, of a number of motions that is not allowed."""
LEAST_GAIN = 0.1
"""Nats by which J must fall: a fit that is repeated without end lowers it a little each time."""


@dataclass(frozen=True, eq=False)
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
T = TypeVar('T')


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
        graph = problem.graph
        self._bonds = csr_array((graph.bond, graph.neighbour, graph.first), (self._n, self._n))
        self._bond_sums = 1.0 + self._bonds.sum(axis=0)
        self._motions = np.empty((0, 4, 3))
        self._costs, self._smoothed = np.empty((2, 0, self._n))
        self._pace = 0.0
        self._best: dict[int, Partition] = {}
        self._expanded: list[Partition] = []
        self.was_short = False
        """Whether the deadline ended the search."""

    def partition(self) -> Partition:
        """Find the partition of lowest energy."""
        blocks, tree = self._problem.blocks, cKDTree(self._problem.rays.T)
        self._propose([blocks.points[a:b] for a, b in pairwise(blocks.first)])
        for _ in range(max(1, round(self._effort * BATCHES))):
            if len(self._motions) == 0 or self._in_time():
                self._timed(self._propose, draw_samples(tree, BATCH, self._rng))
        self._offer(self._descended((np.full(self._n, -1), np.empty((0, 4, 3))), 0))
        self._expand(self.answer)
        for k in sorted({2, 3, self._n_motions} - {0, 1}):
            self._try(self._covers(k), 1)
        while waiting := [p for k, p in self._best.items() if p not in self._expanded
                          and -1 <= k - self.answer.n_motions <= 2]:
            if len(self._best) > 1 and not self._in_time():
                break
            self._expand(min(waiting, key=self._value))
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

    def _in_time(self) -> bool:
        """Tell whether one step more fits."""
        fits = time.perf_counter() + self._pace < self._deadline
        self.was_short = self.was_short or not fits
        return fits

    def _timed(self, step: Callable[..., T], *args: Any) -> T:
        """Do a step, and remember how long the longest one of late took."""
        begin = time.perf_counter()
        found = step(*args)
        self._pace = max(0.9 * self._pace, time.perf_counter() - begin)
        return found

    def _descended(self, trial: Trial, rounds: int) -> Partition:
        """Descend from labels and motions."""
        return Partition(*self._timed(descend, self._problem, *trial, self._weights, rounds))

    def _offer(self, trial: Partition) -> None:
        """Keep a partition if it is the best of its number of motions."""
        known = self._best.get(trial.n_motions)
        if known is None or trial.energy < known.energy - LEAST_GAIN:
            self._best[trial.n_motions] = trial

    def _propose(self, samples: Sequence[IntArray] | IntArray) -> None:
        """Fit motions to samples, refine them on what they explain, and keep them."""
        rays, precision, cap = self._problem.rays, self._problem.precision, self._weights.outlier
        motions = np.empty((len(samples), 4, 3))
        for motion, sample in zip(motions, samples):
            fit_rigid(motion, rays, sample, precision, cap)
        costs = rigid_costs(motions, rays, precision, np.arange(self._n), cap)
        refine_on_inliers(motions, rays, precision, costs, 0.5 * self._weights.core)
        costs = rigid_costs(motions, rays, precision, np.arange(self._n), cap)
        self._motions = np.concatenate([self._motions, motions])
        self._costs = np.concatenate([self._costs, costs])
        self._smoothed = np.concatenate([self._smoothed, self._average(costs)])

    def _average(self, costs: FloatArray) -> FloatArray:
        """Average the cost (..., N) of each point with those of its neighbours, by their bonds."""
        return np.asarray((costs + costs @ self._bonds) / self._bond_sums)

    def _expand(self, current: Partition) -> None:
        """Try more motions than a partition has, and one less."""
        self._expanded.append(current)
        n = self._n_motions
        if current.n_motions < (n + 2 if n else min(self.answer.n_motions + 2, self._max_motions)):
            self._try(self._with_more(current), 1)
        self._try(self._with_one_less(current), 0)

    def _with_more(self, current: Partition) -> Iterator[Trial]:
        """Add one of the proposals that gain most, none of them like another."""
        own = np.vstack([current.costs, np.full(self._n, self._weights.outlier)])
        own = np.minimum(own[current.labels, np.arange(self._n)], self._weights.outlier)
        claims = self._costs < own - MARGIN
        for h in choose_different(claims, self._smoothed, self._average(own) - MARGIN, TRIALS):
            yield (np.where(claims[h], current.n_motions, current.labels),
                   np.concatenate([current.motions, self._motions[h:h + 1]]))

    def _covers(self, k: int) -> Iterator[Trial]:
        """Cover the points by k proposals, each of which explains much of what is left."""
        chosen, gains = draw_covers(self._weights.outlier - self._costs, k,
                                    self._rng.random((4 * TRIALS, k * TRIALS)))
        chosen, first = np.unique(np.sort(chosen, axis=1), axis=0, return_index=True)
        for cover in chosen[np.argsort(-gains[first], kind='stable')[:TRIALS]]:
            own = self._costs[cover]
            labels = np.where(own.min(axis=0) < self._weights.outlier, own.argmin(axis=0), -1)
            yield labels, self._motions[cover]

    def _with_one_less(self, current: Partition) -> Iterator[Trial]:
        """Make outliers of each motion, or members of each other one."""
        for k in range(current.n_motions):
            rest = current.labels - (current.labels > k)
            for other in range(-1, k):
                yield (np.where(current.labels == k, other, rest),
                       np.delete(current.motions, k, axis=0))

    def _try(self, trials: Iterator[Trial], rounds: int) -> None:
        """Descend a little from every trial, and in full from the best of them."""
        screened: list[Partition] = []
        for trial in trials:
            # At least one motion is tried, however short the time.
            if not self._in_time() and (screened or len(self._best) > 1):
                break
            screened.append(self._descended(trial, rounds))
        if screened:
            best = min(screened, key=lambda c: c.energy)
            known = self._best.get(best.n_motions, best)
            self._offer(best)
            # If K is unknown, partitions of most K are only steps to the answer: a full descent
            # is worth its time only near the best one. If K is given, it may lead far down.
            near = self._n_motions or best.energy <= known.energy + self._weights.motion
            if near and self._in_time():
                self._offer(self._pruned(self._descended((best.labels, best.motions), 4)))

    def _pruned(self, partition: Partition) -> Partition:
        """Remove wrong members, until none is left."""
        before = None
        while partition is not before and self._in_time():
            before = partition
            labels = prune(self._problem, before.labels, before.costs, self._weights)
            if (labels != before.labels).any():
                after = self._descended((labels, before.motions), 0)
                partition = min(before, after, key=self._value)
        return partition
