# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The static world over each gap, and by how much every track contradicts it.

The world is one smooth flow (a camera that rests, turns or zooms, or a far scene) or one rigid
(R, t) with a depth for every point. Both are fitted; which of them counts is decided per gap, by
how much depth gains on the tracks that do not stand out from the smooth flow anyway. Evidence is
in nats: (residual / noise)^2 / 2.
"""

from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.static_world import (
    fit_rigid_world, fit_smooth_world, ray_tracks, RayTracks, rigid_contradiction)
from gdm_motion_seg.segmentation.constants import (
    BODY_WEIGHT, CAP, CELLS, DEPTH_GAIN, FEWEST, FIT_CAP, NEAR_GROUND, RELIEF, SMALLEST,
    SUSPICIOUS)
from gdm_motion_seg.segmentation.graph import Graph
from gdm_motion_seg.tracking.window import Window

LOW = 0.85
"""Share of the image height below which lies what can be near ground."""
FORWARD = np.vstack([np.eye(3), [0.0, 0.0, 1.0]])
"""The start of a rigid world without a past: no turn, straight on."""


@dataclass(frozen=True)
class GapWorld:
    """The world over one gap, in units of the focal length."""

    flow: FloatArray
    """(8,) parameters of the smooth flow."""
    motion: FloatArray
    """(4, 3) of the rigid world: R with t below it."""
    smooth_share: float
    """Weight in [0, 1] of the smooth flow against the rigid world."""
    near: FloatArray | None = None
    """(4, 3) motion that explains near ground before a flat background; None without any."""


@dataclass(frozen=True)
class Gap:
    """The tracks that span one gap, and their weights."""

    number: int
    """Column of the window."""
    index: IntArray
    """Rows of the window."""
    tracks: RayTracks
    """Their rays."""
    weight: FloatArray
    """(M,) in the estimate of the world: bodies hardly vote."""
    balanced: FloatArray
    """(M,) the same, as if nothing was a body."""


class WorldEstimator:
    """Estimates the world of one window after the other."""

    def __init__(self) -> None:
        """Start without an estimate."""
        self._last: dict[int, GapWorld] = {}

    def reset(self) -> None:
        """Forget the estimates."""
        self._last = {}

    @property
    def pair(self) -> GapWorld | None:
        """Return the world over the pair's gap, as estimated last."""
        return self._last.get(0)

    @property
    def pose(self) -> FloatArray | None:
        """Return (R, t) over the pair's gap as (4, 3); None where a smooth flow is the world."""
        return self.pair.motion if self.pair and self.pair.smooth_share < 0.5 else None

    def contradiction(self, window: Window, graph: Graph, is_body: Mask, camera: Camera,
                      seed: int) -> FloatArray:
        """
        Estimate the world and return the nats by which each track contradicts it.

        Parameters
        ----------
        window : Window
            The tracks.
        graph : Graph
            Neighbours in the newest image.
        is_body : (N,) array
            Tracks that belonged to a body in the frame before: they have little weight.
        camera : Camera
            Known, or guessed from the image size.
        seed : int
            Of the random samples.

        Returns
        -------
        (N,) array
            Mean over the gaps that a track spans.

        """
        balanced = _balanced_weights(window)
        weight = np.where(is_body, BODY_WEIGHT, 1.0) * balanced
        total, count = np.zeros(len(window)), np.zeros(len(window))
        least = np.full(len(window), np.inf)
        for number, before in enumerate(window.before):
            index = np.flatnonzero(np.isfinite(before[:, 0]))
            if len(index) < FEWEST:
                continue
            tracks = ray_tracks(before[index], window.x[index], window.covariance[index], camera)
            gap = Gap(number, index, tracks, weight[index], balanced[index])
            nats, acquitted = self._over_gap(gap, graph, window, seed)
            total[index] += nats
            count[index] += 1.0
            least[index] = np.minimum(least[index], np.where(acquitted, nats, np.inf))
        # What one gap acquits is acquitted.
        return np.asarray(np.minimum(total / np.maximum(count, 1.0), least))

    def _over_gap(self, gap: Gap, graph: Graph, window: Window,
                  seed: int) -> tuple[FloatArray, Mask]:
        """Estimate the world over one gap; return the contradiction and whom it acquits."""
        last, tracks = self._last.get(gap.number), gap.tracks
        flow, residual = fit_smooth_world(
            last.flow if last else np.zeros(8), last is not None,
            np.ascontiguousarray(tracks.rays[:2].T), np.ascontiguousarray(tracks.rays[2:].T),
            gap.weight, tracks.focal, seed)
        relief = RELIEF * weighted_median(residual, gap.weight)
        # One pixel is forgiven: a lens that is no pinhole bends the flow by so much.
        smooth = np.minimum(0.5 * np.maximum(0.0, residual - 1.0) ** 2
                            / (tracks.total_variance + relief ** 2), CAP)
        motion, rigid = _fit_rigid(gap, gap.weight, last.motion if last else None, FIT_CAP, seed)
        # What lies on the smooth flow does not contradict the world, whatever its parallax.
        flat = np.minimum(0.5 * residual ** 2 / tracks.total_variance, CAP)
        rigid = np.minimum(rigid, flat)
        usual = gap.weight * (smooth < SUSPICIOUS)
        gain = float((usual * (flat - rigid)).sum() / max(usual.sum(), 1e-9))
        share = 1.0 / (1.0 + (max(gain, 0.0) / DEPTH_GAIN) ** 4)
        accused, near = share * smooth + (1.0 - share) * rigid, None
        nats = accused
        if share > 0.5:
            nats, near = _acquit_near_ground(gap, accused, smooth > SUSPICIOUS, graph, window,
                                             last.near if last else None, seed)
        self._last[gap.number] = GapWorld(flow, motion, share, near)
        return nats, nats < accused


def _balanced_weights(window: Window) -> FloatArray:
    """Weigh tracks by 1 / sqrt(tracks in their cell): texture must not outvote the rest."""
    cell = np.maximum(window.x // (max(window.image_size) / CELLS), 0.0).astype(np.int64)
    key = cell[:, 1] * (2 * CELLS) + np.minimum(cell[:, 0], 2 * CELLS - 1)
    return np.asarray(1.0 / np.sqrt(np.bincount(key)[key]))


def _fit_rigid(gap: Gap, weight: FloatArray, start: FloatArray | None, cap: float,
               seed: int) -> tuple[FloatArray, FloatArray]:
    """
    Fit the rigid world; return its motion and the nats of every track.

    ``cap`` is the most nats of a track while poses compete. Below CAP, the tracks above it do not
    refine the best pose either.
    """
    motion = fit_rigid_world(FORWARD if start is None else start, start is not None, gap.tracks,
                             weight, cap, cap if cap < CAP else np.inf, seed)
    return motion, rigid_contradiction(motion, gap.tracks, gap.tracks.variance,
                                       np.arange(len(weight)))


def _acquit_near_ground(gap: Gap, accused: FloatArray, suspicious: Mask, graph: Graph,
                        window: Window, start: FloatArray | None,
                        seed: int) -> tuple[FloatArray, FloatArray | None]:
    """
    Acquit near static things before a flat background, such as rocks before a hillside.

    In two views they equal a body that moves. But they extend along the lower border of the
    image, and one rigid world that is fitted to them as well explains them.
    """
    everywhere = np.zeros(len(window), np.bool_)
    everywhere[gap.index] = suspicious
    group = graph.groups(everywhere)
    along = [g for g in np.unique(group[everywhere]) if _touches_lower_border(window, group == g)]
    ground = np.isin(group, along)[gap.index]
    if not ground.any():
        return accused, None
    # Near ground and the rest get the same weight, so that the background does not decide alone.
    share = gap.weight[~ground].sum() / gap.balanced[ground].sum()
    motion, rigid = _fit_rigid(gap, np.where(ground, share * gap.balanced, gap.weight), start, CAP,
                               seed)
    rigid, nats = np.minimum(rigid, CAP), accused.copy()
    if rigid[ground].mean() < CAP / 2.0:
        for g in np.unique(group[everywhere]):
            members = group[gap.index] == g
            if rigid[members].mean() < CAP / 2.0:
                nats[members] = np.minimum(nats[members],
                                           np.maximum(rigid[members] - CAP / 2.0, 0.0))
    return nats, motion


def _touches_lower_border(window: Window, members: Mask) -> bool:
    """Tell whether a group has the lowest tracks along a part of the lower border."""
    if members.sum() < SMALLEST:
        return False
    width, height = window.image_size
    columns = 2 * CELLS
    column = np.clip(window.x[:, 0] // (width / columns), 0, columns - 1).astype(np.int64)
    lowest = np.full(columns, LOW * height)
    np.maximum.at(lowest, column[~members], window.x[~members, 1])
    below = np.unique(column[members & (window.x[:, 1] > lowest[column])])
    return len(below) >= NEAR_GROUND * columns


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Return the median of values under weights."""
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    at = int(np.searchsorted(total, 0.5 * total[-1]))
    return float(values[order[min(at, len(values) - 1)]])
