# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
World, bodies and wrong matches of a window: proposals, and the moves that lower the energy.

The energy is that of ``energy.py``. Label 0 is the world, whose cost is given: the contradiction
of each track. A body is an affine flow over every gap, which a body that bends follows roughly.
Every body is connected, so that it is one part, and its price has no N in it. Labels of the frame
before enter as STAY nats of each track that leaves its label.

The solver proposes bodies (linked groups of tracks that contradict the world, and of those that
their body does not explain), assigns every track its cheapest label, refits, and merges or drops
bodies while J falls.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.gdm.excess import excess_dimension
from gdm_motion_seg.geometry.body_flow import affine_costs
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.embedding import embed, places
from gdm_motion_seg.geometry.rigid import fit_rigid, rigid_costs
from gdm_motion_seg.geometry.static_world import ray_tracks, RayTracks
from gdm_motion_seg.segmentation import constants
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.segmentation.labelling import all_label_costs, labelling_energy, relabel
from gdm_motion_seg.segmentation.result import FIRST_BODY, NEW, OUTLIER, WORLD
from gdm_motion_seg.tracking.window import Window

WEIGHTS = constants.Weights()
"""Of a pair: windows share the definition of the excess dimension."""
ROUNDS = 3
"""Rounds of refitting, assigning and dropping: the labels settle in two."""
RIGID_LEAST = 12
"""Tracks from which on a body may be modelled as rigid: each of them has a free depth."""
LINKED = FIRST_BODY + 1
"""Row of the costs from which on a label needs a neighbour of like flow: bodies."""


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
    solver = BodySolver(window, doubt, previous, graph)
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


class BodySolver:
    """The state of one minimisation."""

    def __init__(self, window: Window, doubt: FloatArray, previous: IntArray,
                 graph: Graph) -> None:
        """Start with the world and wrong matches only."""
        self._window, self._previous, self._graph = window, previous, graph
        # Tracks that belonged to a body in the frame before, and its id as a small number.
        self._belonged = np.flatnonzero(previous >= FIRST_BODY)
        ids, self._id = np.unique(previous[self._belonged], return_inverse=True)
        self._n_ids = len(ids)
        self._own_costs: dict[bytes, float] = {}
        self._no_body = np.where(doubt > constants.OUTLIER, OUTLIER, WORLD)
        self._data = np.stack([np.full(len(doubt), constants.OUTLIER), doubt])
        self.labels: IntArray = self._no_body.copy()

    @property
    def _bodies(self) -> range:
        return range(FIRST_BODY, len(self._data) - 1)

    def _members(self, body: int) -> IntArray:
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
            for part in self._known_parts(np.flatnonzero(group == value)):
                count += 1
                self.labels[part] = count
        self._data = np.concatenate([self._data, np.zeros((count, len(group)))])
        # Tracks that stay with their body do not start as world, where neighbours would hold them.
        former = self._former()
        stays = (self.labels == WORLD) & (former >= FIRST_BODY)
        self.labels[stays] = former[stays]

    def _known_parts(self, members: IntArray) -> list[IntArray]:
        """Split a group by the bodies of the frame before; new tracks join the largest."""
        former = self._previous[members]
        ids, counts = np.unique(former[former >= FIRST_BODY], return_counts=True)
        large = counts >= constants.SMALLEST
        ids = ids[large][np.argsort(-counts[large])]
        if len(ids) < 2:
            return [members]
        rest = members[~np.isin(former, ids[1:])]
        return [rest, *(members[former == i] for i in ids[1:])]

    def refit(self) -> None:
        """Fit every body's flow to its tracks."""
        for body in self._bodies:
            self._data[body + 1] = self._flow_cost(self._members(body))

    def split(self) -> None:
        """
        Propose as bodies of their own the linked tracks that a new body does not explain.

        Bodies that touch when they are first seen are one group. Later their ids keep them apart.
        """
        rows: list[FloatArray] = []
        for body in self._bodies:
            members = self._members(body)
            if self._is_known(members):
                continue
            unexplained = np.zeros(len(self.labels), np.bool_)
            unexplained[members] = self._explained_cost(members) > constants.CAP / 4.0
            group = self._graph.groups(unexplained)
            for value in np.unique(group[unexplained]):
                part = np.flatnonzero(group == value)
                if constants.SMALLEST <= len(part) < len(members):
                    self.labels[part] = len(self._data) - 1 + len(rows)
                    rows.append(self._flow_cost(part))
        self._data = np.concatenate([self._data, *(row[None] for row in rows)])

    def assign(self) -> None:
        """Give every track its cheapest label."""
        relabel(self._graph, self.labels, self._unary(), constants.SMOOTHNESS, LINKED, 5)

    def merge(self) -> None:
        """Join neighbouring bodies where that lowers J."""
        for a, b in self._touching():
            own, other = self._members(a), self._members(b)
            if not len(own) or not len(other):
                continue
            both = np.concatenate([own, other])
            one, two, joined = (self._own_cost(members) for members in (own, other, both))
            if joined - one - two < constants.PRICE:
                self.labels[other] = a
                self._data[a + 1] = self._flow_cost(both)

    def drop(self) -> None:
        """Dissolve bodies that cost more than they explain, and close the gaps."""
        kept, unary = [], self._unary()
        now = self._energy(self.labels, unary)
        for body in self._bodies:
            members = self._members(body)
            without = self.labels.copy()
            without[members] = WORLD
            energy = self._energy(without, unary)
            if len(members) >= constants.SMALLEST and energy - now > constants.PRICE:
                kept.append(body)
            else:
                self.labels, now = without, energy
        for new, old in enumerate(kept, start=FIRST_BODY):
            self.labels[self.labels == old] = new
        self._data = self._data[[0, 1, *(body + 1 for body in kept)]]

    def result(self) -> Partition:
        """Return the labels and how much each track prefers a body to the world."""
        costs = all_label_costs(self._graph, self.labels, self._unary(), constants.SMOOTHNESS,
                                LINKED)
        best = costs[LINKED:].min(axis=0, initial=np.inf)
        return Partition(self.labels, costs[WORLD + 1] - best, len(self._bodies))

    def _unary(self) -> FloatArray:
        """Return the cost of each label for each track, with the price of leaving the former."""
        former = self._former()
        known = np.flatnonzero(former >= OUTLIER)
        unary: FloatArray = self._data + constants.STAY * (former >= OUTLIER)
        unary[former[known] + 1, known] -= constants.STAY
        return unary

    def _energy(self, labels: IntArray, unary: FloatArray) -> float:
        """Return the data and coherence terms of J."""
        return labelling_energy(self._graph, labels, unary, constants.SMOOTHNESS)

    def _flow_cost(self, members: IntArray) -> FloatArray:
        """Return the capped nats of every track under the affine flow of a body."""
        return _flow_cost(self._window, members)

    @cached_property
    def _tracks(self) -> RayTracks:
        window = self._window
        return ray_tracks(window.before[0], window.x, window.covariance,
                          Camera.guess(window.image_size))

    def _explained_cost(self, members: IntArray) -> FloatArray:
        """
        Return the nats of a body's members under its affine flow, or under one rigid (R, t).

        Whichever explains them better: the faces of a box that turns have no common affine flow.
        Only the affine flow decides who is a member, because (R, t) leaves each depth free.
        """
        everyone = np.arange(len(members))
        affine = _flow_cost(self._window.take(members), everyone)
        if len(members) < RIGID_LEAST:
            return affine
        motion, rays = np.zeros((4, 3)), np.ascontiguousarray(self._tracks.rays[:, members])
        precision = 2.0 * self._tracks.focal ** 2 / self._tracks.total_variance[members]
        fit_rigid(motion, rays, everyone, precision, constants.CAP / 2.0)
        rigid = rigid_costs(motion[None], rays, precision, everyone, constants.CAP / 2.0)[0]
        return rigid if rigid.sum() < affine.sum() else affine

    def _own_cost(self, members: IntArray) -> float:
        """Return what a body costs its members, dimension included; each set is priced once."""
        key = members.tobytes()
        if key not in self._own_costs:
            self._own_costs[key] = float(self._explained_cost(members).sum()
                                         + self._dimension(members))
        return self._own_costs[key]

    def _dimension(self, members: IntArray) -> float:
        """Return the dimension term of a body."""
        pair = self._window.pair.take(members)
        everyone = np.arange(len(members))
        excess = excess_dimension(np.ascontiguousarray(embed(pair).T), places(pair), everyone,
                                  WEIGHTS.epsilon, WEIGHTS.null, np.empty(len(members)))
        return constants.DIMENSION * len(members) * excess

    def _is_known(self, members: IntArray) -> bool:
        """Tell whether some of the tracks belonged to a body in the frame before."""
        return len(members) > 0 and bool(np.mean(self._previous[members] >= FIRST_BODY) > 0.3)

    def _touching(self) -> list[tuple[int, int]]:
        """List the pairs of bodies that are neighbours in the image."""
        a, b = self.labels[self._graph.row], self.labels[self._graph.neighbour]
        touch = (a >= FIRST_BODY) & (b > a)
        return [divmod(pair, len(self._data))
                for pair in np.unique(a[touch] * len(self._data) + b[touch]).tolist()]

    def _former(self) -> IntArray:
        """Translate ids of the frame before to the bodies that share most tracks with them."""
        now, body = self.labels[self._belonged], np.full(self._n_ids, NEW)
        inside = now >= FIRST_BODY
        votes = np.bincount(now[inside] * self._n_ids + self._id[inside],
                            minlength=len(self._data) * self._n_ids)
        votes = votes.reshape(len(self._data), self._n_ids)
        voted = np.flatnonzero(votes.any(axis=1))
        if len(voted):
            body[votes[voted].argmax(axis=1)] = voted
        former: IntArray = self._previous.copy()
        former[self._belonged] = body[self._id]
        return former


def _flow_cost(window: Window, members: IntArray) -> FloatArray:
    """Return the capped nats of every track under the affine flow of some of them."""
    return affine_costs(window.x, window.before, members, float(window.image_size[0]),
                        (constants.BODY_PX, constants.BODY_SHARE), constants.CAP / 2.0)
