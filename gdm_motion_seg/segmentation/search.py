# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The search for the motions of a pair: starts, descents, and the lowest energy.

A full search proposes motions from neighbouring points, grows partitions from them, lets global
dimension minimization descend from covers by several proposals at once, and settles the best of
all on J. A search that follows the last frame starts from its partition, and tries one motion less
and one motion more.
"""

from dataclasses import dataclass, replace
import math
import time

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.descent import descend, Monomials
from gdm_motion_seg.gdm.minimize import reassign_points
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.segmentation.old_rigid import fit_rigid_samples, rigid_costs
from gdm_motion_seg.segmentation import energy
from gdm_motion_seg.segmentation.energy import Weights
from gdm_motion_seg.segmentation.islands import flow_islands
from gdm_motion_seg.segmentation.problem import Problem

SAMPLE = 8
"""Points of a proposal: a few more than five, so that noise does not decide it."""
SCALES = (12, 25, 60)
"""Nearest neighbours of a point from which proposals are drawn, besides anywhere: movers vary."""
PROPOSALS = 400
"""Proposals of a full search."""
BATCH = 40
"""Proposals between two looks at the clock."""
FRESH_PROPOSALS = 24
"""Proposals for a new motion when the last frame is followed."""
GROWTHS = 6
"""Partitions that are grown from proposals, each but the first from a random quarter of them."""
DESCENTS = 16
"""Covers from which global dimension minimization descends, for each number of motions."""
DESCENDED_MOTIONS = 4
"""Descents are tried for up to so many motions; beyond, growth alone has to do."""
SWEEPS = 3
"""Sweeps of point-by-point reassignment after a descent; J settles the rest."""
SETTLED = 4
"""Best candidates, for each number of motions, that are settled on J."""
EXCHANGES = 2
"""Rounds in which motions of the best partitions are exchanged, merged and added."""
EXCHANGE_EFFORT = 0.5
"""Effort below which no motions are exchanged: a stream corrects itself as it goes on."""
ISLANDS = 12
"""Islands of flow that are tried as motions."""
FAR = 40.0
"""A candidate that lies so far above the best is not worth settling."""
LOOSE = 1.0
"""Smoothness while candidates form: a strong one would freeze them where they start."""
GOOD_COVER = 0.7
"""A cover takes a proposal whose gain is at least this share of the best one's."""
MISSED = 1.05
"""Inliers, over those that the grown partitions explain."""
ROUNDS = 6
"""Rounds of refitting and relabelling, at most."""
RELUCTANCE = 0.25
"""By how much, over the number of points, J must fall for one of several steady motions to go."""
REACH = 8.0
"""Moves that cost more than this, dimensions aside, are not tried."""


@dataclass(frozen=True)
class Candidate:
    """A partition with the motions that were fitted to it."""

    labels: IntArray
    rotations: FloatArray
    ts: FloatArray
    costs: FloatArray
    """(K, N) cost of every point under every motion."""
    energy: float
    """J."""

    @property
    def n_motions(self) -> int:
        """Count the motions."""
        return len(self.rotations)


class Budget:
    """Time that a search may take; without a limit it allows everything."""

    def __init__(self, seconds: float = 0.0) -> None:
        """Start the clock; 0 seconds are no limit."""
        now = time.perf_counter()
        self._end = now + seconds if seconds > 0.0 else math.inf
        self._half = now + 0.5 * seconds if seconds > 0.0 else math.inf
        self.was_short = False

    def allows(self, seconds: float = 0.0) -> bool:
        """Tell whether a step of that length still fits; remember it if not."""
        return self._fits(seconds, self._end)

    def allows_half(self, seconds: float = 0.0) -> bool:
        """Tell whether a step still fits into the first half, which later steps leave alone."""
        return self._fits(seconds, self._half)

    def _fits(self, seconds: float, end: float) -> bool:
        fits = time.perf_counter() + seconds < end
        self.was_short = self.was_short or not fits
        return fits


class MotionSearch:
    """Searches the motions of one pair."""

    def __init__(self, problem: Problem, weights: Weights, gdm: GdmConfig,
                 rng: np.random.Generator, budget: Budget, effort: float = 1.0) -> None:
        """Take the problem; nothing is computed yet. Effort is the share of the starts to make."""
        self._problem = problem
        self._weights = weights
        self._gdm = gdm
        self._rng = rng
        self._budget = budget
        self._effort = effort
        self._n = len(problem.y1)
        self._pace = 0.0

    def search(self, n_motions: int, max_motions: int, expected: int = 0) -> Candidate | None:
        """
        Find n_motions motions, or as many as there are if it is 0; None if there is none.

        Where so many are expected, and none asked for, up to one more is looked for, and GDM
        descends to no fewer.
        """
        rotations, ts, costs = self._proposals()
        least, most = 2, max_motions
        if n_motions:
            # One more than asked for: two of its motions may be the one that is sought.
            least, most = n_motions, n_motions + 1
        elif expected:
            least, most = expected, min(expected + 1, max_motions)
        found: dict[int, list[Candidate]] = {}
        self._grow(rotations, ts, costs, most, found)
        self._count_inliers(found)
        for k in range(max(2, least), min(most, DESCENDED_MOTIONS) + 1):
            self._descend(costs, k, found)
        if n_motions > DESCENDED_MOTIONS:
            self._descend(costs, n_motions, found)
        settled = {k: self._settle_best(found[k]) for k in found}
        if self._effort >= EXCHANGE_EFFORT:
            self._exchange(settled, rotations, ts, costs, n_motions)
        if n_motions in settled:
            return settled[n_motions]
        return min(settled.values(), key=lambda c: c.energy, default=None)

    def follow(self, previous: IntArray, n_motions: int, max_motions: int,
               steady: bool = False) -> Candidate | None:
        """
        Start from the labels of the last frame; None if nothing of it holds.

        Where the number of motions has long been steady, one less has to be much better: for a
        while one motion may explain two bodies that were seen to move apart.
        """
        labels, count = _closed_up(previous, self._weights.smallest)
        if count == 0:
            return None
        start = time.perf_counter()
        current = self._relax(self._fitted(labels, count), self._weights.smoothness, 3)
        self._pace = time.perf_counter() - start
        if current.n_motions == 0:
            return None
        known = {current.n_motions: [current]}
        self._count_inliers(known)
        current = known[current.n_motions][0]
        if self._budget.allows(self._pace):
            current = self._settle(current, 1)
        if n_motions == 0 or current.n_motions > n_motions:
            current = self._with_one_less(current, RELUCTANCE * self._n if steady else 0.0)
        if current.n_motions < (n_motions or max_motions):
            current = self._with_one_more(current)
        return current

    def _count_inliers(self, found: dict[int, list[Candidate]]) -> None:
        """Take the most points that a few motions explain for all inliers; value all anew."""
        most = max((_followers(c, self._weights.core) for k in found for c in found[k]
                    if k <= DESCENDED_MOTIONS), default=self._n)
        self._problem = self._problem._replace(inliers=min(MISSED * most, float(self._n)))
        for k in found:
            found[k] = [self._valued(c.labels, c.rotations, c.ts) for c in found[k]]

    def _some(self, count: int) -> int:
        """Scale a number of starts by the effort."""
        return max(1, round(self._effort * count))

    def _proposals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Propose motions all over the image, as many as half the budget allows; give costs."""
        parts = []
        for _ in range(self._some(PROPOSALS // BATCH)):
            start = time.perf_counter()
            rotations, ts = self._propose(BATCH, None)
            parts.append((rotations, ts, rigid_costs(
                rotations, ts, self._problem.y1, self._problem.y2, self._problem.precision,
                self._weights.cap)))
            if not self._budget.allows_half(time.perf_counter() - start):
                break
        rotations, ts, costs = (np.concatenate(part) for part in zip(*parts))
        return rotations, ts, costs

    def _propose(self, count: int, centres: IntArray | None) -> tuple[FloatArray, FloatArray]:
        """Fit motions to small samples, near given centres or anywhere."""
        p = self._problem
        samples = draw_samples(p.pool, count, centres, self._rng)
        return fit_rigid_samples(p.y1, p.y2, p.precision, samples, self._weights.cap)

    def _fitted(self, labels: IntArray, count: int) -> Candidate:
        """Fit motions to a partition."""
        rotations, ts = np.empty((count, 3, 3)), np.empty((count, 3))
        energy.fit_motions(self._problem, labels, rotations, ts, self._weights)
        return self._valued(labels, rotations, ts)

    def _valued(self, labels: IntArray, rotations: FloatArray, ts: FloatArray) -> Candidate:
        costs = energy.point_costs(self._problem, labels, rotations, ts, self._weights)
        value = energy.energy(self._problem, labels, costs, self._weights)
        return Candidate(labels, rotations, ts, costs, value)

    def _relax(self, candidate: Candidate, smoothness: float, rounds: int = ROUNDS) -> Candidate:
        """Refit and relabel in turn; motions may vanish."""
        labels, rotations, ts = (a.copy() for a in
                                 (candidate.labels, candidate.rotations, candidate.ts))
        count, costs = energy.relax(self._problem, labels, rotations, ts, self._weights,
                                    smoothness, rounds)
        value = energy.energy(self._problem, labels, costs, self._weights)
        return Candidate(labels, rotations[:count].copy(), ts[:count].copy(), costs, value)

    def _settle(self, candidate: Candidate, rounds: int = 3) -> Candidate:
        """Move single points on J, dimensions and all."""
        labels, rotations, ts = (a.copy() for a in
                                 (candidate.labels, candidate.rotations, candidate.ts))
        costs, value = energy.settle(self._problem, labels, rotations, ts, self._weights, rounds,
                                     REACH)
        return Candidate(labels, rotations, ts, costs, value)

    def _grow(self, rotations: FloatArray, ts: FloatArray, costs: FloatArray, most: int,
              found: dict[int, list[Candidate]]) -> None:
        """Add motion after motion, each the proposal that explains most of what is left."""
        for growth in range(self._some(GROWTHS)):
            quarter = np.arange(len(costs))
            if growth:
                quarter = self._rng.choice(len(costs), max(1, len(costs) // 4), replace=False)
            labels = np.full(self._n, -1)
            kept_rotations, kept_ts = np.empty((0, 3, 3)), np.empty((0, 3))
            left = np.full(self._n, self._weights.cap)
            for _ in range(most):
                if found and not self._budget.allows(self._pace):
                    return
                best = quarter[np.maximum(left - costs[quarter], 0.0).sum(axis=1).argmax()]
                labels = np.where(costs[best] < left, len(kept_rotations), labels)
                start = time.perf_counter()
                candidate = self._relax(self._valued(
                    labels, np.concatenate([kept_rotations, rotations[best:best + 1]]),
                    np.concatenate([kept_ts, ts[best:best + 1]])), LOOSE)
                self._pace = time.perf_counter() - start
                if candidate.n_motions == 0:
                    break
                found.setdefault(candidate.n_motions, []).append(candidate)
                labels, kept_rotations, kept_ts = (candidate.labels, candidate.rotations,
                                                   candidate.ts)
                left = np.minimum(candidate.costs.min(axis=0), self._weights.cap)

    def _descend(self, costs: FloatArray, k: int, found: dict[int, list[Candidate]]) -> None:
        """Minimise the global dimension from covers by k proposals and from the best so far."""
        if not self._budget.allows(4.0 * self._pace):
            return
        best = sorted(found.get(k, []), key=lambda c: c.energy)[:self._some(SETTLED)]
        starts = [cover(costs, k, self._weights.cap, self._rng)
                  for _ in range(self._some(DESCENTS))]
        starts += [c.labels for c in best]
        memberships = np.stack([np.where(s < 0, 1.0 / k, s == np.arange(k)[:, None])
                                for s in starts])
        memberships, _ = descend(Monomials.of(self._problem.vectors), memberships, self._gdm)
        known: set[bytes] = set()
        few_sweeps = replace(self._gdm, n3=min(self._gdm.n3, self._some(SWEEPS)))
        for start, labels in zip(starts, memberships.argmax(axis=1)):
            uncovered = start < 0
            partitions = [labels]
            if uncovered.mean() > 0.05:
                partitions.append(np.where(uncovered, -1, labels))
            for partition in partitions:
                if not self._budget.allows(2.0 * self._pace):
                    return
                partition = reassign_points(self._problem.vectors, partition, k, few_sweeps)
                partition, count = _closed_up(partition, 1)
                if count < k or partition.tobytes() in known:
                    continue
                known.add(partition.tobytes())
                candidate = self._fitted(partition, k)
                for c in (candidate, self._relax(candidate, LOOSE)):
                    if c.n_motions:
                        found.setdefault(c.n_motions, []).append(c)

    def _settle_best(self, candidates: list[Candidate]) -> Candidate:
        """Settle the best candidates of one number of motions, also from their smoothed form."""
        candidates = sorted({round(c.energy, 6): c for c in candidates}.values(),
                            key=lambda c: c.energy)[:self._some(SETTLED)]
        settled = [candidates[0]]
        for candidate in candidates:
            if not self._budget.allows(3.0 * self._pace):
                break
            settled.append(self._settle(candidate))
            smooth = self._relax(candidate, self._weights.smoothness)
            if smooth.n_motions == candidate.n_motions:
                settled.append(self._settle(smooth))
        return min(settled, key=lambda c: c.energy)

    def _exchange(self, settled: dict[int, Candidate], rotations: FloatArray, ts: FloatArray,
                  costs: FloatArray, n_motions: int) -> None:
        """
        Try to improve the best partition of each number of motions from its neighbours.

        One motion is exchanged for the best proposal, two motions of a larger partition are
        merged, or a proposal is added to a smaller one.
        """
        islands = flow_islands(self._problem, self._weights.smallest, self._some(ISLANDS))
        for k in sorted(settled):
            if k != n_motions and (n_motions or k > DESCENDED_MOTIONS):
                continue
            for _ in range(EXCHANGES):
                trials = [self._without(settled[k], i) for i in range(k)]
                if k - 1 in settled:
                    trials.append(settled[k - 1])
                improved = False
                for smaller in trials:
                    if not self._budget.allows(3.0 * self._pace):
                        return
                    improved |= self._offer(settled, k,
                                            self._with_proposal(smaller, rotations, ts, costs))
                    for island in islands:
                        if not self._budget.allows(3.0 * self._pace):
                            return
                        improved |= self._offer(settled, k, self._with_island(smaller, island))
                if k + 1 in settled:
                    for i in range(k):
                        for j in range(i + 1, k + 1):
                            if not self._budget.allows(3.0 * self._pace):
                                return
                            improved |= self._offer(settled, k,
                                                    self._merged(settled[k + 1], i, j))
                if not improved:
                    break

    def _offer(self, settled: dict[int, Candidate], k: int, candidate: Candidate) -> bool:
        """Relax and settle a candidate; keep it if it is the best with k motions."""
        candidate = self._relax(candidate, LOOSE)
        if candidate.n_motions != k or candidate.energy > settled[k].energy + FAR:
            return False
        candidate = self._settle(candidate)
        if candidate.energy >= settled[k].energy - 1e-6:
            return False
        settled[k] = candidate
        return True

    def _without(self, candidate: Candidate, k: int) -> Candidate:
        """Dissolve motion k; its points go where they fit best."""
        others = np.arange(candidate.n_motions) != k
        labels = np.where(candidate.labels == k, -1,
                          candidate.labels - (candidate.labels > k)).astype(np.int64)
        energy.relabel(self._problem, labels, np.ascontiguousarray(candidate.costs[others]),
                       self._weights, self._weights.smoothness, 5)
        return self._valued(labels, candidate.rotations[others].copy(),
                            candidate.ts[others].copy())

    def _with_proposal(self, candidate: Candidate, rotations: FloatArray, ts: FloatArray,
                       costs: FloatArray) -> Candidate:
        """Add the one of a random half of the proposals that explains most of what is left."""
        left = np.minimum(candidate.costs.min(axis=0, initial=np.inf), self._weights.cap)
        half = self._rng.choice(len(costs), (len(costs) + 1) // 2, replace=False)
        best = half[np.maximum(left - costs[half], 0.0).sum(axis=1).argmax()]
        labels = np.where(costs[best] < left, candidate.n_motions, candidate.labels)
        return self._valued(labels,
                            np.concatenate([candidate.rotations, rotations[best:best + 1]]),
                            np.concatenate([candidate.ts, ts[best:best + 1]]))

    def _with_island(self, candidate: Candidate, island: npt.NDArray[np.bool_]) -> Candidate:
        """Make a motion of an island of flow."""
        labels = np.where(island, candidate.n_motions, candidate.labels)
        return self._with_fit(labels, candidate.n_motions,
                              np.concatenate([candidate.rotations, np.eye(3)[None]]),
                              np.concatenate([candidate.ts, np.zeros((1, 3))]))

    def _merged(self, candidate: Candidate, i: int, j: int) -> Candidate:
        """Make one motion of i and j, where i < j."""
        labels = np.where(candidate.labels == j, i, candidate.labels)
        others = np.arange(candidate.n_motions) != j
        return self._with_fit(labels - (labels > j), i, candidate.rotations[others].copy(),
                              candidate.ts[others].copy())

    def _with_fit(self, labels: IntArray, k: int, rotations: FloatArray,
                  ts: FloatArray) -> Candidate:
        """Fit motion k anew, and leave the others as they are."""
        energy.fit_motion(self._problem, labels, k, rotations, ts, self._weights)
        return self._valued(labels, rotations, ts)

    def _with_one_less(self, current: Candidate, reluctance: float) -> Candidate:
        """
        Dissolve each motion, and merge it with each other one; keep the best if J falls enough.

        Halves of one motion need the merge: neither of them, as it is, takes in all of the other.
        """
        best, lowest = current, current.energy - reluctance
        for k in range(current.n_motions):
            if current.n_motions == 1 or not self._budget.allows(self._pace):
                break
            for trial in (self._without(current, k),
                          *(self._merged(current, j, k) for j in range(k))):
                if trial.energy < lowest:
                    best, lowest = trial, trial.energy
        return best if best is current else self._settle(best, 1)

    def _with_one_more(self, current: Candidate) -> Candidate:
        """Propose motions where points are unhappy; keep the best of them if J falls."""
        if not self._budget.allows(2.0 * self._pace):
            return current
        own = np.where(current.labels < 0, self._weights.cap,
                       current.costs[np.maximum(current.labels, 0), np.arange(self._n)])
        unhappy = np.flatnonzero(own > self._weights.core)
        if len(unhappy) < self._weights.smallest:
            return current
        rotations, ts = self._propose(FRESH_PROPOSALS, unhappy)
        costs = rigid_costs(rotations, ts, self._problem.y1, self._problem.y2,
                            self._problem.precision, self._weights.cap)
        trial = self._relax(self._with_proposal(current, rotations, ts, costs),
                            self._weights.smoothness, 3)
        if self._budget.allows(self._pace):
            trial = self._settle(trial, 1)
        return trial if trial.energy < current.energy else current


def draw_samples(pool: IntArray, count: int, centres: IntArray | None,
                 rng: np.random.Generator) -> IntArray:
    """Draw (count, SAMPLE) indices from the neighbourhoods of random points, at several scales."""
    n = len(pool)
    if centres is None:
        centres = np.arange(n)
    samples = np.empty((count, SAMPLE), np.int64)
    for i, scale in enumerate((*SCALES, n)):
        rows = np.arange(i, count, len(SCALES) + 1)
        reach = min(scale, pool.shape[1])
        if scale > pool.shape[1]:
            samples[rows] = rng.integers(n, size=(len(rows), SAMPLE))
            continue
        chosen = np.argsort(rng.random((len(rows), reach)), axis=1)
        chosen = np.resize(chosen, (len(rows), SAMPLE)) if reach < SAMPLE else chosen[:, :SAMPLE]
        samples[rows] = pool[rng.choice(centres, len(rows))[:, None], chosen]
    return samples


def cover(costs: FloatArray, k: int, cap: float, rng: np.random.Generator) -> IntArray:
    """Label the points by k random proposals that explain many of them, k-means++ fashion."""
    gains = cap - costs
    covered = np.zeros(costs.shape[1])
    chosen = np.zeros(k, np.int64)
    for i in range(k):
        gain = np.maximum(gains - covered, 0.0).sum(axis=1)
        weight = np.where(gain >= GOOD_COVER * gain.max(), gain, 0.0) ** 4
        total = weight.sum()
        chosen[i] = rng.choice(len(gain), p=weight / total if total > 0.0 else None)
        covered = np.maximum(covered, gains[chosen[i]])
    own = costs[chosen]
    return np.where(own.min(axis=0) >= cap, -1, own.argmin(axis=0))


def _followers(candidate: Candidate, core: float) -> int:
    """Count the points that follow their motion."""
    own = candidate.labels == np.arange(candidate.n_motions)[:, None]
    return int((own & (candidate.costs <= core)).sum())


def _closed_up(previous: IntArray, smallest: int) -> tuple[IntArray, int]:
    """Order the motions by appearance, without gaps; drop those that have too few points."""
    values, first, counts = np.unique(previous, return_index=True, return_counts=True)
    values = values[np.argsort(first)][((values >= 0) & (counts >= smallest))[np.argsort(first)]]
    labels = np.full(len(previous), -1, np.int64)
    for k, value in enumerate(values):
        labels[previous == value] = k
    return labels, len(values)
