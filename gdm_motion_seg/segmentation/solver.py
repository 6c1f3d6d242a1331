# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The search for the partition of lowest energy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math
import time

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import fit_rigid, fit_rigid_samples, rigid_costs
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.energy import descend
from gdm_motion_seg.segmentation.problem import Problem
from gdm_motion_seg.segmentation.proposals import draw_samples, flow_clusters, support

PROPOSALS = 120
FRESH = 40
MARGIN = 0.7
TRIED = 4
CYCLES = 3
LOOSE = 0.15
ADD = (4, 2)
RED = (4, 1)


@dataclass(frozen=True)
class Partition:
    """A partition with the motions that were fitted to it."""

    labels: IntArray
    motions: FloatArray
    """(K, 4, 3): R with t below it."""
    costs: FloatArray
    """(K, N) cost of every point under every motion, in nats."""
    energy: float
    """J."""

    @property
    def n_motions(self) -> int:
        """Count the motions."""
        return len(self.motions)


class Solver:
    """Searches the motions of one pair: propose, assign, refit, add, merge and drop."""

    def __init__(self, problem: Problem, weights: Weights, rng: np.random.Generator,
                 n_motions: int = 0, max_motions: int = 6, deadline: float = math.inf) -> None:
        """Take the problem; nothing is computed yet."""
        self._problem, self._weights, self._rng = problem, weights, rng
        self._n_motions, self._max_motions = n_motions, max_motions
        self._deadline = deadline
        self._n = problem.rays.shape[1]
        self._proposed = np.empty((0, 4, 3))
        self._proposed_costs = np.empty((0, self._n))
        self._pace = 0.0
        self.was_short = False
        self.trials = 0

    def partition(self, groups: Sequence[IntArray] = ()) -> Partition:
        """Find the partition of lowest energy; ``groups`` are sets of points to try as motions."""
        self._propose_samples(PROPOSALS, np.arange(self._n))
        self._propose_groups([*groups, *flow_clusters(self._problem, self._weights.smallest)])
        best = {}
        self._offer(best, self._start())
        for cycle in range(CYCLES):
            before = self._answer(best).energy
            self._climb(best)
            self._fall(best)
            answer = self._answer(best)
            if cycle and answer.energy >= before - 1e-6 or not self._in_time():
                break
            unhappy = self._unexplained(answer)
            if cycle < CYCLES - 1 and len(unhappy) >= self._weights.smallest:
                self._propose_samples(FRESH, unhappy)
        return self._answer(best)

    def _answer(self, best: dict[int, Partition]) -> Partition:
        return min(best.values(), key=lambda c: c.energy + self._price(c.n_motions))

    def _offer(self, best: dict[int, Partition], trial: Partition) -> bool:
        k = trial.n_motions
        if k in best and trial.energy >= best[k].energy - 1e-6:
            return False
        best[k] = trial
        return True

    def _climb(self, best: dict[int, Partition]) -> None:
        """Add a motion to the best partition of every number of motions."""
        k = min(best)
        while k in best and k < self._top(best):
            for labels, motions in self._additions(best[k], TRIED):
                if not self._in_time():
                    return
                self._offer(best, self._descended(labels, motions, *ADD))
            k += 1

    def _top(self, best: dict[int, Partition]) -> int:
        if self._n_motions:
            return self._n_motions + 2
        return min(self._answer(best).n_motions + 2, self._max_motions)

    def _fall(self, best: dict[int, Partition]) -> None:
        """Merge or drop motions of the best partition of every number of motions."""
        for k in sorted(best, reverse=True):
            trials = []
            for labels, motions in self._reductions(best[k]):
                if not self._in_time():
                    return
                trials.append(self._descended(labels, motions, 0))
            for trial in sorted(trials, key=lambda c: c.energy)[:2]:
                if not self._in_time():
                    return
                if trial.energy < best.get(trial.n_motions, trial).energy + 40.0:
                    self._offer(best, self._descended(trial.labels, trial.motions, *RED))

    def _start(self) -> Partition:
        p = self._problem
        labels, n_motions = np.where(p.previous >= 0, p.previous, -1), int(p.previous.max()) + 1
        n_motions = max(n_motions, int(len(p.world) > 0))
        motions = np.tile(np.eye(4, 3), (n_motions, 1, 1))
        for k in range(n_motions):
            members = np.flatnonzero(labels == k)
            if len(members) and not (k == 0 and len(p.world)):
                fit_rigid(motions[k], p.rays, members, p.precision, self._weights.cap)
        return self._descended(labels, motions, 3)

    def _in_time(self) -> bool:
        fits = time.perf_counter() + self._pace < self._deadline
        self.was_short = self.was_short or not fits
        return fits

    def _price(self, n_motions: int) -> float:
        """Return the price of so many motions; where the number is given, of missing it."""
        if self._n_motions:
            return 1e6 * abs(n_motions - self._n_motions)
        return self._weights.motion * n_motions + 1e6 * max(0, n_motions - self._max_motions)

    def _descended(self, labels: IntArray, motions: FloatArray, rounds: int,
                   loose: int = 0) -> Partition:
        begin = time.perf_counter()
        self.trials += 1
        labels, motions, costs, value = descend(self._problem, labels.astype(np.int64), motions,
                                                self._weights, rounds, loose, LOOSE)
        self._pace = max(self._pace, time.perf_counter() - begin)
        return Partition(labels, motions, costs, value)

    def _propose_samples(self, count: int, centres: IntArray) -> None:
        p = self._problem
        samples = draw_samples(p.near, count, centres, self._rng)
        self._take(fit_rigid_samples(p.rays, p.precision, samples, self._weights.cap))

    def _propose_groups(self, groups: Sequence[IntArray]) -> None:
        p = self._problem
        motions = np.empty((len(groups), 4, 3))
        for motion, members in zip(motions, groups):
            fit_rigid(motion, p.rays, members, p.precision, self._weights.cap)
        self._take(motions)

    def _take(self, motions: FloatArray) -> None:
        p = self._problem
        costs = rigid_costs(motions, p.rays, p.precision, np.arange(self._n), self._weights.cap)
        self._proposed = np.concatenate([self._proposed, motions])
        self._proposed_costs = np.concatenate([self._proposed_costs, costs])

    def _current_costs(self, current: Partition) -> FloatArray:
        own = np.full(self._n, self._weights.outlier)
        kept = current.labels >= 0
        own[kept] = np.minimum(current.costs[current.labels[kept], np.flatnonzero(kept)],
                               self._weights.cap)
        return own

    def _unexplained(self, current: Partition) -> IntArray:
        return np.flatnonzero(self._current_costs(current) > self._weights.core)

    def _reductions(self, current: Partition) -> Iterator[tuple[IntArray, FloatArray]]:
        for k in range(int(len(self._problem.world) > 0), current.n_motions):
            labels, motions = self._without(current, k)
            if len(motions):
                yield labels, motions
            for j in range(k):
                yield np.where(current.labels == k, j, labels), motions

    def _without(self, current: Partition, k: int) -> tuple[IntArray, FloatArray]:
        labels = np.where(current.labels == k, -1, current.labels - (current.labels > k))
        return labels, np.delete(current.motions, k, axis=0)

    def _additions(self, current: Partition,
                   count: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Add the proposals that gain most."""
        own = self._current_costs(current)
        gains = support(self._problem, self._proposed_costs, own, MARGIN)
        taken = []
        for h in np.argsort(-gains, kind='stable'):
            if gains[h] <= 0.0 or len(taken) == count:
                break
            claim = self._proposed_costs[h] < own - MARGIN
            if any((claim & other).sum() > 0.7 * (claim | other).sum() for other in taken):
                continue
            taken.append(claim)
            yield (np.where(claim, current.n_motions, current.labels),
                   np.concatenate([current.motions, self._proposed[h:h + 1]]))
