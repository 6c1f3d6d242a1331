# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Dense masks of what moves, from the answers for tracks, dense flow, colour and the last mask.

Tracks decide where they are; flow decides between them and proposes bodies where there are none;
colour and edges of the image fill in. Each frame is answered from it and those before it.
"""

from dataclasses import dataclass, replace
import math

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks import kernels
from gdm_motion_seg.masks.bodies import Names, Proposals, propose
from gdm_motion_seg.masks.flow import (
    affine_flows, BodyFlows, ENOUGH_TRACKS, LEAST_SAMPLES, parallax, world_flow)
from gdm_motion_seg.masks.grid import (
    ColourModel, DOUBTFUL, grid_sizes, MOVING, Tracks, View, Viewer)
from gdm_motion_seg.masks.kernels import ByteImage, FloatImage, IdImage
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.tracking.image import check_array

KEEP_PER_S = 0.005
"""Share of a displacement that is left after a second: the sum reaches back about 0.2 s."""
NOISE = 0.15
"""Noise of the flow in pixels of the grid."""
USUAL_PARALLAX = 4.0
"""Displacements up to so many times those of the static tracks around are parallax."""
TEXTURE = 3.0
"""Gradient in grey levels per pixel below which flow is not believed."""
COLOUR_CHANGE = 25.0
"""Standard deviation in grey levels of a pixel's colour from frame to frame."""
VOTE_PX, VOTE_LAB, VOTE_FLOW = 4.0, 12.0, 1.0
"""Reach of a track's vote in pixels of the grid, in Lab and in flow."""
VOTE_REACH = 8
"""Pixels of the grid at which votes end: two standard deviations."""
NO_VOTE = 0.3
"""Votes that count as few."""
LEAN_STATIC = -2.0
"""Log-odds of a pixel without votes."""
DOUBT_WEIGHT = 0.3
"""Weight of the vote of a static track that is doubtful or lies on a body that was lost."""
WEIGHTS = 1.0, 2.0, 2.0, 0.6
"""Weights of votes, flow, colour and the last mask in the log-odds."""
CAP = 3.0
"""Largest log-odds of one kind of evidence."""
SMOOTH_PX, EDGE_LAB, SMOOTH_ROUNDS = 20.0, 30.0, 2
"""Reach of the edge-aware smoothing, and the edge that stops it."""
SURE = 1.0
"""Log-odds from which on pixels teach their colour."""
COMPONENT_TRACKS, COMPONENT_PIXELS = 3, 20
"""A component of the mask holds so many moving tracks, or pixels of a remembered body."""
PAUSE_S = 1.0
"""After so long a pause everything is forgotten."""


@dataclass
class _Memory:
    """What is carried from frame to frame, on the grid."""

    stamp: int
    lab: ByteImage
    fields: FloatImage
    """(h, w, 4) log-odds, displacement against the world in x and y, frames in it."""
    body: IdImage
    age: FloatImage


class MotionMasks:
    """
    Makes an instance image of each frame: 0 is the world, other values are ids of bodies.

    Ids are those of the answer's motions; bodies that only the flow shows have ids from 1 000 000
    until they get tracks.
    Images and answers are given in order. Nothing moves is an answer: all zeros.
    """

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._viewer, self._colours, self._names = Viewer(), ColourModel(), Names()
        self._memory: _Memory | None = None

    def process(self, image: npt.NDArray[np.generic], result: FrameResult) -> IdImage:
        """
        Return the instance image (H, W) of a frame (grey, BGR or BGRA of 8 or 16 bits).

        Where the pipeline's result names no world, nothing is called moving; where it refuses the
        image, the frame is left out.
        """
        check_array(image)
        if result.problem and not result.has_pair:
            self.reset()
            return np.zeros(image.shape[:2], np.int32)
        if self._is_new(result.stamp, image.shape):
            self.reset()
        view = self._viewer.look(image)
        if self._memory is None:
            h, w = view.shape
            self._memory = _Memory(result.stamp, view.lab, np.zeros((h, w, 4), np.float32),
                                   np.zeros((h, w), np.int32), np.zeros((h, w), np.float32))
            return np.zeros(image.shape[:2], np.int32)
        odds, body = self._segment(view, result)
        return _enlarged(odds, self._names.published(body), image.shape[:2])

    def _is_new(self, stamp: int, shape: tuple[int, ...]) -> bool:
        """Whether a frame does not continue the last ones."""
        if self._memory is None:
            return False
        width, height = grid_sizes(shape[1], shape[0])[1]
        step = (stamp - self._memory.stamp) / 1e9
        return not 0 < step <= PAUSE_S or self._memory.body.shape != (height, width)

    def _segment(self, view: View, result: FrameResult) -> tuple[FloatImage, IdImage]:
        """Return log-odds and bodies on the grid."""
        assert self._memory is not None
        seconds = (result.stamp - self._memory.stamp) / 1e9
        before = _carried(self._memory, view)
        tracks = Tracks.of(result, view)
        bodies = self._names.of_tracks(tracks.bodies, tracks.at(before.body))
        tracks = replace(tracks, bodies=bodies)
        residual, displacement = _against_world(view, before, tracks, seconds)
        nats = _contradiction(view, displacement, tracks, before.body)
        known = set(np.unique(bodies[bodies > 0]).tolist())
        shown = propose(nats, tracks, before.body, known, before.age, seconds, self._names)
        seen = known | shown.ids
        self._names.tick(seen, seconds)
        faded = 0.5 * before.fields[..., 0]
        self._memory = _Memory(result.stamp, view.lab, np.dstack((faded, displacement)),
                               np.zeros_like(before.body), shown.age)
        lost = (before.fields[..., 0] > 0.5) & np.isin(
            before.body, [b for b in self._names.alive if b not in seen])
        frame = _Frame(view, before, tracks, shown, residual, nats, lost)
        flows = self._flows(frame, seen)
        if not len(flows.ids) or result.world is None:
            return faded, self._memory.body
        odds, body = self._odds(frame, flows)
        self._memory.fields[..., 0] = np.clip(odds, -4.0, 4.0)
        self._memory.body = body
        return odds, body

    def _flows(self, frame: '_Frame', seen: set[int]) -> BodyFlows:
        """Fit the flow of every body, to its tracks and, if they are few, to its pixels."""
        samples, shown, before = {}, frame.shown.region[::3, ::3], frame.before
        was = np.where(before.fields[::3, ::3, 0] > 0.5, before.body[::3, ::3], 0)
        for name in self._names.alive:
            pixels = frame.tracks.pixels[frame.tracks.bodies == name]
            if len(pixels) < ENOUGH_TRACKS:
                y, x = np.nonzero((shown == name) | (was == name))
                pixels = np.concatenate((pixels, 3 * np.column_stack((x, y))))
            if len(pixels) < LEAST_SAMPLES:
                if name not in seen:
                    self._names.drop(name)
                continue
            x, y = pixels.T
            samples[name] = (pixels.astype(np.float32), frame.view.flow[y, x],
                             frame.residual[y, x])
        return affine_flows(samples)

    def _odds(self, frame: '_Frame', flows: BodyFlows) -> tuple[FloatImage, IdImage]:
        """Return log-odds of moving per pixel, smoothed up to edges, and the body, if it moves."""
        votes = _votes(frame)
        nearest, owner = flows.residual(frame.view.flow)
        flow = _flow_odds(frame, nearest, flows.speed)
        colour = self._colours.log_odds(frame.view.lab)
        odds = np.zeros(votes.shape, np.float32)
        for weight, part in zip(WEIGHTS, (votes, flow, colour, frame.before.fields[..., 0])):
            odds += weight * np.clip(part, -CAP, CAP)
        kernels.smooth_edges(odds, frame.view.lab, SMOOTH_PX, EDGE_LAB, SMOOTH_ROUNDS)
        believed = _believed(odds, frame.tracks, frame.lost | (frame.shown.region > 0))
        self._colours.learn(believed & (odds > SURE) & (votes > SURE),
                            (odds < -SURE) & (votes < -SURE))
        odds[(odds > 0) & ~(believed & (owner > 0))] = -0.5
        return odds, np.where(believed, owner, 0)


@dataclass(frozen=True)
class _Frame:
    """What is known of a frame before its pixels are labelled."""

    view: View
    before: _Memory
    tracks: Tracks
    shown: Proposals
    residual: FloatImage
    """(h, w, 2) flow against the world."""
    nats: FloatImage
    """(h, w) contradiction to the world."""
    lost: npt.NDArray[np.bool_]
    """(h, w) pixels of bodies that neither tracks nor flow show in this frame."""


def _carried(memory: _Memory, view: View) -> _Memory:
    """Return the memory at its new places."""
    new = _Memory(memory.stamp, view.lab, np.empty_like(memory.fields),
                  np.empty_like(memory.body), np.empty_like(memory.age))
    kernels.carry(view.flow, memory.fields, memory.lab, memory.body, memory.age, view.lab,
                  COLOUR_CHANGE, new.fields, new.body, new.age)
    return new


def _against_world(view: View, before: _Memory, tracks: Tracks, seconds: float
                   ) -> tuple[FloatImage, FloatImage]:
    """Return the flow against the world, and its sum over the last frames with their number."""
    h, w = view.shape
    moving = (before.body > 0).astype(np.uint8)
    moving = cv2.dilate(moving, np.ones((5, 5), np.uint8))
    hit = np.zeros((h, w), np.uint8)
    hit[tracks.pixels[tracks.moving, 1], tracks.pixels[tracks.moving, 0]] = 1
    moving |= cv2.dilate(hit, np.ones((11, 11), np.uint8))
    trust = 1.0 - cv2.blur(moving.astype(np.float32), (5, 5))
    residual = view.flow - world_flow(view.flow, trust)
    # A leaky sum along the path of each pixel, and the number of frames in it.
    displacement = KEEP_PER_S**seconds * before.fields[..., 1:]
    displacement[..., :2] += residual
    displacement[..., 2] += 1.0
    return residual, displacement


def _contradiction(view: View, displacement: FloatImage, tracks: Tracks, body: IdImage
                   ) -> FloatImage:
    """Return by how many nats each pixel contradicts the world, parallax and noise allowed for."""
    # Static tracks on a body of the last mask may be wrong ones: they must not excuse the body.
    static = (tracks.sure < 0.5 * MOVING) & (tracks.at(body) == 0)
    spread = parallax(displacement, tracks.pixels[static])
    noise2 = 2 * NOISE**2 * displacement[..., 2] + USUAL_PARALLAX**2 * spread**2
    moved2 = displacement[..., 0]**2 + displacement[..., 1]**2
    return np.asarray(np.log1p(moved2 / noise2) * _flow_trust(view), np.float32)


def _flow_trust(view: View) -> FloatImage:
    """Return how far the flow is believed: without texture, it is that of what is near."""
    return np.asarray(view.texture / (view.texture + TEXTURE**2), np.float32)


def _votes(frame: _Frame) -> FloatImage:
    """Return log-odds by the votes of tracks, and of the flow where it shows a body."""
    tracks, view = frame.tracks, frame.view
    witness = tracks.moving | ((tracks.sure <= DOUBTFUL) & ~tracks.at(frame.lost))
    weight = np.where(witness, 1.0, DOUBT_WEIGHT).astype(np.float32)
    count = np.zeros((2, *view.shape), np.float32)
    near = tracks.at(_near_bodies(frame)) > 0
    kernels.votes(tracks.points[near], tracks.moving[near].astype(np.int64), weight[near],
                  view.flow, view.lab, VOTE_PX, VOTE_LAB, VOTE_FLOW, count)
    odds = np.log((count[1] + NO_VOTE * math.exp(LEAN_STATIC)) / (count[0] + NO_VOTE))
    shown = frame.shown.region > 0
    odds[shown] = np.maximum(odds[shown], np.minimum(frame.nats[shown], 2.0))
    return np.asarray(odds)


def _near_bodies(frame: _Frame) -> ByteImage:
    """Return where votes can matter: around moving tracks, proposals and the last mask."""
    near = ((frame.before.body > 0) | (frame.shown.region > 0)).astype(np.uint8)
    x, y = frame.tracks.pixels[frame.tracks.moving].T
    near[y, x] = 1
    # Twice the reach of a vote: where moving tracks vote, static ones have their say.
    return np.asarray(cv2.dilate(near, np.ones((4 * VOTE_REACH + 1,) * 2, np.uint8)), np.uint8)


def _flow_odds(frame: _Frame, nearest: FloatImage, speed: float) -> FloatImage:
    """Return log-odds by the residuals of the flow to the world and to the nearest body."""
    noise2 = (NOISE + 0.1 * speed)**2
    world2 = frame.residual[..., 0]**2 + frame.residual[..., 1]**2
    body2 = np.minimum(nearest, np.sqrt(world2) + 1.0)**2
    odds = np.log((noise2 + world2) / (noise2 + body2))
    return np.asarray(np.where(odds > 0, _flow_trust(frame.view) * odds, odds))


def _believed(odds: FloatImage, tracks: Tracks, held: npt.NDArray[np.bool_]
              ) -> npt.NDArray[np.bool_]:
    """Return the components of the mask that tracks, flow or memory vouch for."""
    count, parts = cv2.connectedComponents((odds > 0).astype(np.uint8), connectivity=4)
    hits = np.bincount(tracks.at(parts)[tracks.moving], minlength=count)
    pixels = np.bincount(parts[held], minlength=count)
    good = (hits >= COMPONENT_TRACKS) | (pixels >= COMPONENT_PIXELS)
    good[0] = False
    return np.asarray(good[parts])


def _enlarged(odds: FloatImage, body: IdImage, shape: tuple[int, ...]) -> IdImage:
    """Bring the bodies to the image's size; the border runs where the log-odds cross zero."""
    large = np.zeros(shape[:2], np.int32)
    if body.any():
        sign = np.where(body > 0, np.maximum(odds, 0.05), np.minimum(odds, -0.05))
        kernels.enlarge(sign.clip(-2.0, 2.0), body, large)
    return large


def motion_mask(instances: IdImage, dilation: int = 0, moving_is_white: bool = True) -> ByteImage:
    """
    Return a mask of 0 and 255 from an instance image, (H, W) ids of bodies.

    Moving regions grow by ``dilation`` pixels. They are white, or black as COLMAP wants it.
    """
    moving = (instances != 0).astype(np.uint8)
    if dilation > 0:
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * dilation + 1, 2 * dilation + 1))
        moving = np.asarray(cv2.dilate(moving, disc), np.uint8)
    return np.asarray(255 * (moving if moving_is_white else 1 - moving), np.uint8)
