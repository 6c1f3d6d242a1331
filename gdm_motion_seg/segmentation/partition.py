# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
World, bodies and wrong matches: the energy of a window's labels, and its minimisation.

    J = sum_n U_n(l_n)                                 data, in nats, mean over the gaps
      + SMOOTHNESS sum_mn exp(-c_mn^2) [l_m != l_n]    neighbours in the image, c their contrast
      + STAY sum_n [l_n != label in the frame before]
      + sum_k (PRICE + DIMENSION n_k d_k)              bodies; d_k is the empirical dimension

U_n is the contradiction to the world, the residual from the affine flow of body k, or the price
of a wrong match. The dimension term is the paper's global dimension with weights,
(sum_k w_k d_k^p)^(1/p) for p = 1: it decides whether two bodies are one. No term grows with the
number of tracks in the world, so that a small body costs the same among many. Because any split
lowers the dimension, what a split of the same size that mixes the two gains is subtracted.

The solver proposes bodies (linked groups of tracks that contradict the world, and of those that
their body does not explain), assigns every track its cheapest label (iterated conditional modes),
refits, and merges or drops bodies while J falls.
"""

from dataclasses import dataclass
import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.gdm.empirical import hard_dimensions
from gdm_motion_seg.geometry._linalg import median
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import embed
from gdm_motion_seg.geometry.rigid import fit_rigid, rigid_costs
from gdm_motion_seg.geometry.smooth_flow import AFFINE, CONSTANT, flow_residuals, refine_flow
from gdm_motion_seg.segmentation import constants
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.segmentation.energy import relabel2, local_costs2
from gdm_motion_seg.segmentation.result import OUTLIER, WORLD
from gdm_motion_seg.tracking.window import Window

ROUNDS = 3
"""Rounds of refitting, assigning and dropping: the labels settle in two."""
EPSILON = 0.35
"""Strictness of the empirical dimension, the paper's epsilon."""
RIGID_LEAST = 12
"""Tracks from which on a body may be modelled as rigid: each of them has a free depth."""
FIRST_BODY = 1
"""Label of the first body."""
NEW = -2
"""Label in the frame before of a track that is new."""
FORBIDDEN = 1e6
"""Cost of a body for a track that no neighbour of like flow links to it."""


@dataclass(frozen=True)
class Partition:
    """Labels of a window's tracks and what the labels cost."""

    labels: IntArray
    """(N,) WORLD, OUTLIER, or a body from FIRST_BODY on, without gaps."""
    advantage: FloatArray
    """(N,) nats by which the cheapest body is cheaper than the world, all terms included."""
    n_bodies: int
    """Number of bodies."""


def partition(window: Window, doubt: FloatArray, previous: IntArray, graph: Graph) -> Partition:
    """
    Label the tracks of a window by minimising J.

    Parameters
    ----------
    window : Window
        The tracks.
    doubt : (N,) array
        Nats by which each track contradicts the world.
    previous : (N,) array
        Label of each track in the frame before: WORLD, OUTLIER, a body's id, or NEW.
    graph : Graph
        Neighbours in the newest image.

    """
    solver = _Solver(window, doubt, previous, graph)
    solver.propose(graph.groups(doubt > constants.SUSPICIOUS))
    for _ in range(ROUNDS):
        before = solver.labels.copy()
        solver.refit()
        solver.split()
        solver.assign()
        solver.merge()
        solver.drop()
        if np.array_equal(before, solver.labels):
            break
    return solver.result()


class _Solver:
    """The state of one minimisation."""

    def __init__(self, window: Window, doubt: FloatArray, previous: IntArray,
                 graph: Graph) -> None:
        self._window = window
        self._previous = previous
        self._graph = graph
        self._bond = constants.SMOOTHNESS * graph.bond
        self._no_body = np.where(doubt > constants.OUTLIER, OUTLIER, WORLD)
        # Rows: wrong match, world, bodies; so that label + 1 is the row.
        self._unary = np.stack([np.full(len(doubt), constants.OUTLIER), doubt])
        self.labels: IntArray = self._no_body.copy()

    @property
    def _bodies(self) -> range:
        return range(FIRST_BODY, len(self._unary) - 1)

    def members(self, body: int) -> IntArray:
        """List the tracks of a body."""
        return np.flatnonzero(self.labels == body)

    def propose(self, group: IntArray) -> None:
        """
        Propose a body for every linked group of suspicious tracks that is large enough.

        A group that holds several bodies of the frame before is as many proposals: bodies that
        touch are linked, and merging finds out whether they are one.
        """
        count = 0
        values, counts = np.unique(group[group >= 0], return_counts=True)
        for value in values[counts >= constants.SMALLEST]:
            members = np.flatnonzero(group == value)
            for part in self._parts(members):
                count += 1
                self.labels[part] = count
        self._unary = np.concatenate([self._unary, np.zeros((count, len(group)))])
        # Tracks that stay with their body do not start as world, where neighbours would hold them.
        former = self._former()
        stays = (self.labels == WORLD) & (former >= FIRST_BODY)
        self.labels[stays] = former[stays]

    def _parts(self, members: IntArray) -> list[IntArray]:
        """Split a group by the bodies of the frame before; new tracks join the largest."""
        former = self._previous[members]
        ids, counts = np.unique(former[former >= FIRST_BODY], return_counts=True)
        ids = ids[counts >= constants.SMALLEST][np.argsort(-counts[counts >= constants.SMALLEST])]
        if len(ids) < 2:
            return [members]
        rest = members[~np.isin(former, ids[1:])]
        return [rest, *(members[former == i] for i in ids[1:])]

    def refit(self) -> None:
        """Fit every body's flow to its tracks."""
        for body in self._bodies:
            self._unary[body + 1] = affine_cost(self._window, self.members(body))

    def split(self) -> None:
        """
        Propose as bodies of their own the linked tracks that a new body does not explain.

        Bodies that touch when they are first seen are one group. Later their ids keep them apart.
        """
        rows: list[FloatArray] = []
        for body in self._bodies:
            members = self.members(body)
            if self._is_known(members):
                continue
            unexplained = np.zeros(len(self.labels), np.bool_)
            cost = explained_cost(self._window, members)
            unexplained[members] = cost > constants.BODY_CAP / 2.0
            group = self._graph.groups(unexplained)
            for value in np.unique(group[unexplained]):
                part = np.flatnonzero(group == value)
                if constants.SMALLEST <= len(part) < len(members):
                    self.labels[part] = len(self._unary) - 1 + len(rows)
                    rows.append(affine_cost(self._window, part))
        if rows:
            self._unary = np.concatenate([self._unary, rows])

    def assign(self) -> None:
        """Give every track its cheapest label."""
        relabel2(self._graph, self.labels, self._with_stay(), constants.SMOOTHNESS, 2, 5)

    def _with_stay(self):
        former = self._former()
        unary = self._unary.copy()
        known = np.flatnonzero(former >= OUTLIER)
        unary[:, known] += constants.STAY
        unary[former[known] + 1, known] -= constants.STAY
        return unary

    def merge(self) -> None:
        """Join neighbouring bodies where that lowers J."""
        for a, b in self._touching():
            own, other = self.members(a), self.members(b)
            if not len(own) or not len(other):
                continue
            both = np.concatenate([own, other])
            one, two, joined = (float(explained_cost(self._window, members).sum())
                                for members in (own, other, both))
            crossed, rest = self._split_across(own, other)
            dimension = self._dimension(crossed) + self._dimension(rest) \
                - self._dimension(own) - self._dimension(other)
            if joined - one - two + dimension - self._price_of_two(own, other) < 0.0:
                self.labels[other] = a
                self._unary[a + 1] = affine_cost(self._window, both)

    def drop(self) -> None:
        """Dissolve bodies that cost more than they explain, and close the gaps."""
        kept = []
        for body in self._bodies:
            members = self.members(body)
            if len(members) >= constants.SMALLEST and self._gain(body, members) > 0.0:
                kept.append(body)
            else:
                self.labels[members] = self._no_body[members]
        for new, old in enumerate(kept, start=FIRST_BODY):
            self.labels[self.labels == old] = new
        self._unary = self._unary[[0, 1, *(body + 1 for body in kept)]]

    def result(self) -> Partition:
        """Return the labels and how much each track prefers a body to the world."""
        local = local_costs2(self._graph, self.labels, self._with_stay(), constants.SMOOTHNESS, 2)
        best = local[2:].min(axis=0, initial=FORBIDDEN)
        return Partition(self.labels, local[1] - best, len(self._bodies))

    def _gain(self, body: int, members: IntArray) -> float:
        """Return by how much a body lowers J against labelling its tracks without it."""
        price = constants.PRICE if self._is_known(members) else constants.FIRST_PRICE
        saved = np.minimum(self._unary[0, members], self._unary[1, members]).sum()
        border = _border(self._graph, self._bond, self.labels, members)
        return float(saved - self._unary[body + 1, members].sum() - border - price)

    def _is_known(self, members: IntArray) -> bool:
        """Tell whether some of the tracks belonged to a body in the frame before."""
        return len(members) > 0 and bool(np.mean(self._previous[members] >= FIRST_BODY) > 0.3)

    def _dimension(self, members: IntArray) -> float:
        """Return the dimension term of a body."""
        vectors = embed(self._window.pair.take(members))
        together = np.zeros(len(members), np.int64)
        d = float(hard_dimensions(vectors, together, 1, EPSILON)[0])
        return constants.DIMENSION * len(members) * d

    def _price_of_two(self, own: IntArray, other: IntArray) -> float:
        """Return the price of keeping two bodies apart: less where they were two before."""
        ids = {int(np.bincount(former[former >= FIRST_BODY], minlength=1).argmax())
               for former in (self._previous[own], self._previous[other])}
        return constants.PRICE if len(ids) == 2 and 0 not in ids else constants.FIRST_PRICE

    def _split_across(self, own: IntArray, other: IntArray) -> tuple[IntArray, IntArray]:
        """
        Split two bodies again into parts of the same sizes, across the line that joins them.

        Any split of a motion lowers its dimension. What counts against a merge is by how much the
        split into these two bodies lowers it more than one that mixes them.
        """
        x, both = self._window.x, np.concatenate([own, other])
        line = x[other].mean(axis=0) - x[own].mean(axis=0)
        across = both[np.argsort(x[both] @ (-line[1], line[0]), kind='stable')]
        return across[:len(own)], across[len(own):]

    def _touching(self) -> list[tuple[int, int]]:
        """List the pairs of bodies that are neighbours in the image."""
        row = np.repeat(np.arange(len(self.labels)), np.diff(self._graph.first))
        a, b = self.labels[row], self.labels[self._graph.neighbour]
        touch = (a >= FIRST_BODY) & (b > a)
        return [(int(i), int(j)) for i, j in np.unique(np.stack([a, b])[:, touch], axis=1).T]

    def _former(self) -> IntArray:
        """Translate ids of the frame before to the bodies that share most tracks with them."""
        former = np.where(self._previous >= FIRST_BODY, NEW, self._previous)
        for body in self._bodies:
            votes = self._previous[self.members(body)]
            votes = votes[votes >= FIRST_BODY]
            if len(votes):
                former[self._previous == np.bincount(votes).argmax()] = body
        return former


def explained_cost(window: Window, members: IntArray) -> FloatArray:
    """
    Return the nats of a body's members under its affine flow, or under one rigid (R, t).

    Whichever explains them better: the faces of a box that turns have no common affine flow. Only
    the affine flow decides who is a member, because (R, t) leaves each track's depth free.
    """
    affine = affine_cost(window, members)[members]
    if len(members) < RIGID_LEAST:
        return affine
    rigid = rigid_cost_of(window, members)[members]
    return rigid if rigid.sum() < affine.sum() else affine


def rigid_cost_of(window: Window, members: IntArray) -> FloatArray:
    """Fit (R, t) to the members over the pair's gap; return the capped nats of all tracks."""
    k = Camera.guess(window.image_size).matrix
    x1, x2 = ((x - k[:2, 2]) / k[0, 0] for x in (window.before[0], window.x))
    rays = np.ascontiguousarray(np.hstack([x1, x2]).T)
    moved2 = ((window.x - window.before[0]) ** 2).sum(axis=1)
    precision = 2.0 * k[0, 0] ** 2 / (
        constants.POINT_VARIANCE + constants.FLOW_VARIANCE * moved2
        + 0.5 * (window.covariance[:, 0] + window.covariance[:, 2]))
    motion = np.zeros((4, 3))
    fit_rigid(motion, rays, members, precision, constants.BODY_CAP)
    return rigid_costs(motion[None], rays, precision, members, constants.BODY_CAP)[0]


def affine_cost(window: Window, members: IntArray) -> FloatArray:
    """Return the capped nats of every track under the affine flow of a body, mean over gaps."""
    if not len(members):
        return np.full(len(window), constants.BODY_CAP)
    return affine_costs(np.ascontiguousarray(window.x), np.ascontiguousarray(window.before),
                        members, float(window.image_size[0]), constants.BODY_PX,
                        constants.BODY_SHARE, constants.BODY_CAP, constants.SMALLEST)


@kernel
def affine_costs(positions: FloatArray, before: FloatArray, members: IntArray, width: float,
                 px: float, share: float, cap: float, smallest: int) -> FloatArray:
    """
    Fit an affine flow to the members over every gap; return the nats of all tracks.

    The noise is ``px`` and a share of the flow; a gap counts from ``smallest - 2`` members on.
    """
    n = len(positions)
    # In units of the image width, about the body's centre.
    centre, x, ones = np.zeros(2), np.empty((n, 2)), np.ones(n)
    for i in members:
        centre += positions[i]
    centre /= len(members)
    for i in range(n):
        x[i, 0] = (positions[i, 0] - centre[0]) / width
        x[i, 1] = (positions[i, 1] - centre[1]) / width
    total, count, flow = np.zeros(n), np.zeros(n), np.zeros((n, 2))
    known = np.zeros(n, np.bool_)
    for gap in range(len(before)):
        for i in range(n):
            u, v = positions[i, 0] - before[gap, i, 0], positions[i, 1] - before[gap, i, 1]
            known[i] = math.isfinite(u)
            flow[i, 0], flow[i, 1] = (u / width, v / width) if known[i] else (0.0, 0.0)
        own = members[known[members]]
        if len(own) < smallest - 2:
            continue
        h = np.zeros(8)
        h[0], h[3] = median(flow[own, 0]), median(flow[own, 1])
        noise = px / width + share * math.hypot(h[0], h[3])
        for _ in range(4):
            refine_flow(h, x, flow, ones, own, 2.0 * noise,
                        AFFINE if len(own) > smallest else CONSTANT)
        residuals = flow_residuals(h, x, flow)
        for i in range(n):
            if known[i]:
                total[i] += min(0.5 * (residuals[i] / noise) ** 2, cap)
                count[i] += 1.0
    for i in range(n):
        total[i] = total[i] / count[i] if count[i] > 0.0 else cap
    return total


def _border(graph: Graph, bond: FloatArray, labels: IntArray, members: IntArray) -> float:
    """Sum the bonds between a body's tracks and the world."""
    inside = np.zeros(len(labels), np.bool_)
    inside[members] = True
    edges = np.flatnonzero(np.repeat(inside, np.diff(graph.first)))
    return float(bond[edges][labels[graph.neighbour[edges]] == WORLD].sum())


