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

from gdm_motion_seg.arrays import FloatArray, Mask
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.static_world import (
    fit_rigid_world, fit_smooth_world, ray_tracks, RayTracks, rigid_contradiction)
from gdm_motion_seg.segmentation.constants import (
    CAP, DEPTH_GAIN, FEWEST, NEAR_GROUND, REACH, RELIEF, SUSPICIOUS)
from gdm_motion_seg.tracking.window import Window


@dataclass(frozen=True)
class GapWorld:
    """The world over one gap, in units of the focal length."""

    flow: FloatArray
    """(8,) parameters of the smooth flow."""
    motion: FloatArray
    """(4, 3) of the rigid world: R with t below it."""
    smooth_share: float
    """Weight in [0, 1] of the smooth flow against the rigid world."""


START = GapWorld(np.zeros(8), np.vstack([np.eye(3), [0.0, 0.0, 1.0]]), 1.0)
"""The world without a past: no turn, straight on."""


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

    def contradiction(self, window: Window, is_body: Mask, camera: Camera,
                      seed: int) -> FloatArray:
        """
        Estimate the world and return the nats by which each track contradicts it.

        Parameters
        ----------
        window : Window
            The tracks.
        is_body : (N,) array
            Tracks that belonged to a body in the frame before: they do not vote.
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
        low = window.x[:, 1] > (1.0 - NEAR_GROUND) * window.image_size[1]
        total, count = np.zeros(len(window)), np.zeros(len(window))
        least = np.full(len(window), np.inf)
        for number, before in enumerate(window.before):
            index = np.flatnonzero(np.isfinite(before[:, 0]))
            if len(index) < FEWEST:
                continue
            tracks = ray_tracks(before[index], window.x[index], window.covariance[index], camera)
            nats, acquitted = self._over_gap(number, tracks, balanced[index], is_body[index],
                                             low[index], seed)
            total[index] += nats
            count[index] += 1.0
            least[index] = np.minimum(least[index], np.where(acquitted, nats, np.inf))
        # What one gap acquits is acquitted.
        return np.asarray(np.minimum(total / np.maximum(count, 1.0), least))

    def _over_gap(self, number: int, tracks: RayTracks, balanced: FloatArray, is_body: Mask,
                  low: Mask, seed: int) -> tuple[FloatArray, Mask]:
        """Estimate the world over one gap; return the contradiction and whom it acquits."""
        last, warm = self._last.get(number, START), number in self._last
        weight = balanced * (~is_body | is_body.all())
        flow, residual = fit_smooth_world(
            last.flow, warm, np.ascontiguousarray(tracks.rays[:2].T),
            np.ascontiguousarray(tracks.rays[2:].T), weight, tracks.focal, seed)
        relief = RELIEF * np.median(residual[weight > 0.0])
        # One pixel is forgiven: a lens that is no pinhole bends the flow by so much.
        smooth = np.minimum(0.5 * np.maximum(0.0, residual - 1.0) ** 2
                            / (tracks.total_variance + relief ** 2), CAP)
        motion = fit_rigid_world(last.motion, warm, tracks, weight, SUSPICIOUS, seed)
        # What lies on the smooth flow does not contradict the world, whatever its parallax.
        flat = np.minimum(0.5 * residual ** 2 / tracks.total_variance, CAP)
        rigid = np.minimum(rigid_contradiction(motion, tracks, tracks.variance), flat)
        usual = weight * (smooth < SUSPICIOUS)
        gain = float((usual * (flat - rigid)).sum() / max(usual.sum(), 1e-9))
        share = 1.0 / (1.0 + (max(gain, 0.0) / DEPTH_GAIN) ** 4)
        self._last[number] = GapWorld(flow, motion, share)
        accused = share * smooth + (1.0 - share) * rigid
        ground = low & (smooth > SUSPICIOUS)
        if share < 0.5 or 2 * ground.sum() <= low.sum():
            return accused, np.zeros(len(low), np.bool_)
        # Near static things before a flat background, such as rocks before a hillside, equal a
        # body that moves. But they fill the lower border of the image, and one rigid world
        # explains them and the rest, if the background does not outvote them.
        weight[ground] = balanced[ground] * (weight[~ground].sum() / balanced[ground].sum())
        near = fit_rigid_world(last.motion, warm, tracks, weight, SUSPICIOUS, seed)
        nats = np.minimum(accused, rigid_contradiction(near, tracks, tracks.variance))
        return nats, nats < accused


def _balanced_weights(window: Window) -> FloatArray:
    """Weigh tracks by 1 / sqrt(tracks in their cell): texture must not outvote the rest."""
    cell = window.x // (0.5 * REACH * max(window.image_size))
    key = np.clip(cell, 0, 99).astype(np.int64) @ [1, 100]
    return np.asarray(1.0 / np.sqrt(np.bincount(key)[key]))
