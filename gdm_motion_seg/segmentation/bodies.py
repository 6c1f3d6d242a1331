# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
World, bodies and wrong matches of a window: proposals, and the moves that lower the energy.

The energy is that of ``energy.py``. Label 0 is the world, whose cost is given: the contradiction
of each track. A body is an affine flow over every gap, which a body that bends follows roughly.
Every body is connected, so that it is one part, and its price has no N in it. Labels of the frame
before enter as STAY nats of each track that leaves its label.

The solver proposes bodies (those of the frame before, and linked groups of tracks that contradict
the world), fits them, splits what a new one does not explain, assigns every track its cheapest
label, and merges and drops bodies where that lowers J.
"""

from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.gdm.excess import excess_dimension
from gdm_motion_seg.geometry.body_flow import affine_costs
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.embedding import embed, places
from gdm_motion_seg.geometry.rigid import fit_rigid, rigid_costs
from gdm_motion_seg.geometry.static_world import ray_tracks
from gdm_motion_seg.segmentation import constants
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.segmentation.labelling import all_label_costs, labelling_energy, relabel
from gdm_motion_seg.segmentation.result import FIRST_BODY, NEW, OUTLIER, WORLD
from gdm_motion_seg.tracking.window import Window

WEIGHTS = constants.Weights()
"""Of a pair: windows share the definition of the excess dimension."""
ROUNDS = 2
"""Rounds in which labels settle; the second splits what is left of a new body."""
LINKED = FIRST_BODY + 1
"""Row of the costs from which on a label needs a neighbour of like flow: bodies."""


@dataclass(frozen=True)
class Partition:
    """Labels of a window's tracks and what the labels cost."""

    labels: IntArray
    """(N,) WORLD, OUTLIER, or a body from FIRST_BODY on."""
    advantage: FloatArray
    """(N,) nats by which the cheapest body is cheaper than the world, all terms included."""


def partition(window: Window, doubt: FloatArray, previous: IntArray, evident: Mask, graph: Graph,
              camera: Camera) -> Partition:
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
    evident : (N,) array
        Tracks of bodies with strong evidence: they start as members, also where they do not
        contradict the world at present.
    graph : Graph
        Neighbours in the newest image.
    camera : Camera
        Known, or guessed from the image size.

    """
    suspicious = doubt > constants.SUSPICIOUS
    solver = BodySolver(window, doubt, previous, graph, camera)
    solver.propose_known(suspicious | evident)
    solver.propose_groups(suspicious)
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

    def __init__(self, window: Window, doubt: FloatArray, previous: IntArray, graph: Graph,
                 camera: Camera) -> None:
        """Start with the world and wrong matches only."""
        self._window, self._graph, self._camera = window, graph, camera
        # The label that a track had in the frame before, in the numbers of this minimisation.
        self._former: IntArray = previous.copy()
        belonged = previous >= FIRST_BODY
        ids, number = np.unique(previous[belonged], return_inverse=True)
        self._former[belonged] = FIRST_BODY + number
        self.labels: IntArray = np.where(doubt > constants.OUTLIER, OUTLIER, WORLD)
        self._data = np.concatenate([np.full((1, len(doubt)), constants.OUTLIER), doubt[None],
                                     np.zeros((len(ids), len(doubt)))])
        self._first_new = FIRST_BODY + len(ids)

    @property
    def _bodies(self) -> range:
        return range(FIRST_BODY, len(self._data) - 1)

    def _members(self, body: int) -> IntArray:
        """List the tracks of a body."""
        return np.flatnonzero(self.labels == body)

    def propose_known(self, members: Mask) -> None:
        """Propose the bodies of the frame before, with some of their tracks."""
        stays = members & (self._former >= FIRST_BODY)
        self.labels[stays] = self._former[stays]

    def propose_groups(self, suspicious: Mask) -> None:
        """Propose a body for every large linked group of suspicious tracks without one."""
        group = self._graph.groups(suspicious & (self.labels < FIRST_BODY))
        values, counts = np.unique(group[group >= 0], return_counts=True)
        large = values[counts >= constants.SMALLEST]
        for body, value in enumerate(large, start=len(self._data) - 1):
            self.labels[group == value] = body
        self._data = np.concatenate([self._data, np.zeros((len(large), len(group)))])

    def refit(self) -> None:
        """Fit every body's flow to its tracks."""
        for body in self._bodies:
            self._data[body + 1] = _flow_cost(self._window, self._members(body))

    def split(self) -> None:
        """
        Propose as bodies of their own the linked tracks that a new body does not explain.

        Bodies that touch when they are first seen are one group. Later their ids keep them apart.
        """
        for body in range(self._first_new, len(self._data) - 1):
            members = self._members(body)
            unexplained = np.zeros(len(self.labels), np.bool_)
            unexplained[members] = self._explained_cost(members) > constants.CAP / 4.0
            group = self._graph.groups(unexplained)
            for value in np.unique(group[unexplained]):
                part = np.flatnonzero(group == value)
                if constants.SMALLEST <= len(part) < len(members):
                    self.labels[part] = len(self._data) - 1
                    self._data = np.concatenate([self._data,
                                                 _flow_cost(self._window, part)[None]])

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
                self._former[self._former == b] = a
                self._data[a + 1] = _flow_cost(self._window, both)

    def drop(self) -> None:
        """Dissolve bodies that cost more than they explain."""
        unary = self._unary()
        now = self._energy(self.labels, unary)
        for body in self._bodies:
            members = self._members(body)
            without = self.labels.copy()
            without[members] = WORLD
            energy = self._energy(without, unary)
            if len(members) < constants.SMALLEST or energy - now < constants.PRICE:
                self.labels, now = without, energy

    def result(self) -> Partition:
        """Return the labels and how much each track prefers a body to the world."""
        costs = all_label_costs(self._graph, self.labels, self._unary(), constants.SMOOTHNESS,
                                LINKED)
        best = costs[LINKED:].min(axis=0, initial=np.inf)
        return Partition(self.labels, costs[WORLD + 1] - best)

    def _unary(self) -> FloatArray:
        """Return the cost of each label for each track, with the price of leaving the former."""
        known = np.flatnonzero(self._former != NEW)
        unary: FloatArray = self._data.copy()
        unary[:, known] += constants.STAY
        unary[self._former[known] + 1, known] -= constants.STAY
        return unary

    def _energy(self, labels: IntArray, unary: FloatArray) -> float:
        """Return the data and coherence terms of J."""
        return labelling_energy(self._graph, labels, unary, constants.SMOOTHNESS)

    def _explained_cost(self, members: IntArray) -> FloatArray:
        """
        Return the nats of a body's members under its affine flow, or under one rigid (R, t).

        Whichever explains them better: the faces of a box that turns have no common affine flow.
        Only the affine flow decides who is a member, because (R, t) leaves each depth free.
        """
        part, everyone = self._window.take(members), np.arange(len(members))
        affine = _flow_cost(part, everyone)
        if len(members) <= constants.SMALLEST:
            return affine
        motion = np.zeros((4, 3))
        tracks = ray_tracks(part.before[0], part.x, part.covariance, self._camera)
        # With the noise of the affine flow: otherwise two flows would always beat one motion.
        flow = np.median(part.x - part.before[0], axis=0)
        noise = constants.BODY_PX + constants.BODY_SHARE * float(np.hypot(*flow))
        precision = np.full(len(members), 2.0 * (tracks.focal / noise) ** 2)
        fit_rigid(motion, tracks.rays, everyone, precision, constants.CAP / 2.0)
        rigid = rigid_costs(motion[None], tracks.rays, precision, everyone,
                            constants.CAP / 2.0)[0]
        return rigid if rigid.sum() < affine.sum() else affine

    def _own_cost(self, members: IntArray) -> float:
        """Return what a body costs its members, dimension included."""
        return float(self._explained_cost(members).sum()) + self._dimension(members)

    def _dimension(self, members: IntArray) -> float:
        """Return the dimension term of a body."""
        pair = self._window.pair.take(members)
        everyone = np.arange(len(members))
        excess = excess_dimension(np.ascontiguousarray(embed(pair).T), places(pair), everyone,
                                  WEIGHTS.epsilon, WEIGHTS.null, np.empty(len(members)))
        return constants.DIMENSION * len(members) * excess

    def _touching(self) -> list[tuple[int, int]]:
        """List the pairs of bodies that are neighbours in the image."""
        a, b = self.labels[self._graph.row], self.labels[self._graph.neighbour]
        touch = (a >= FIRST_BODY) & (b > a)
        return [divmod(pair, len(self._data))
                for pair in np.unique(a[touch] * len(self._data) + b[touch]).tolist()]


def _flow_cost(window: Window, members: IntArray) -> FloatArray:
    """Return the capped nats of every track under the affine flow of some of them."""
    return affine_costs(window.x, window.before, members, float(window.image_size[0]),
                        (constants.BODY_PX, constants.BODY_SHARE), constants.CAP / 2.0)
