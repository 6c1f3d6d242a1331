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
import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import entries, epipolar, essential, parallax, refine_rigid
from gdm_motion_seg.geometry.smooth_flow import (
    AFFINE, flow_residual, flow_residuals, PLANAR, refine_flow)
from gdm_motion_seg.segmentation.constants import (
    ACQUITTAL, BEHIND_PX, BEHIND_SHARE, CAP, DEPTH_GAIN, FLOW_VARIANCE, NEAR_GROUND,
    POINT_VARIANCE, RELIEF, SMALLEST, SUSPICIOUS)
from gdm_motion_seg.segmentation.graph import Graph, Mask
from gdm_motion_seg.tracking.window import Window

SAMPLE = 300
"""Tracks on which hypotheses compete: more do not change which one wins."""
FLOW_HYPOTHESES, POSE_HYPOTHESES, COLD_HYPOTHESES = 20, 12, 60
"""Flows of four tracks; poses of seven, with and without a pose of the frame before."""
FLOW_SCALE_PX = 2.0
"""Scale of the robust loss of the smooth flow, in pixels."""
FIT_FLOW_VARIANCE = FLOW_VARIANCE / 4.0
"""While poses compete: a lenient test would not tell them apart."""
FIT_CAP = 3.0
"""Most nats of a track while poses compete, and of a track that refines the best one: with a
higher cap, a pose between world and a large body is cheaper than that of the world [footage]."""
LOW = 0.85
"""Share of the image height below which lies what can be near ground."""
BEHIND_WEIGHT = 0.1
"""Weight of negative parallax in the refinement; without it the turn along t is nearly free."""
BODY_WEIGHT = 0.03
"""Weight of a body's tracks in the estimate: they hardly vote, but a body may end [footage]."""
CELLS = 12
"""Cells along the longer side in which the weights of tracks are balanced."""
FEWEST = 30
"""Tracks below which a gap tells nothing about the world."""


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
class GapTracks:
    """The tracks that span one gap."""

    index: IntArray
    """Rows of the window."""
    rays: FloatArray
    """(4, M) rays at depth 1: x, y of the older frame, x, y of the newer one."""
    focal: float
    """Pixels per unit of the rays."""
    covariance: FloatArray
    """(M, 3) position noise in square pixels."""
    moved2: FloatArray
    """(M,) squared flow in square pixels."""

    @property
    def tolerance(self) -> FloatArray:
        """Return the negative parallax that is forgiven, in pixels."""
        return np.asarray(BEHIND_PX + BEHIND_SHARE * np.sqrt(self.moved2))

    def variance(self, per_flow: float) -> FloatArray:
        """Return the variance of a displacement, position noise aside, in square pixels."""
        return POINT_VARIANCE + per_flow * self.moved2


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
        for gap in range(len(window.before)):
            tracks = tracks_of_gap(window, gap, camera)
            if len(tracks.index) < FEWEST:
                continue
            nats, acquitted = self._over_gap(gap, tracks, weight[tracks.index],
                                             balanced[tracks.index], graph, window, seed)
            total[tracks.index] += nats
            count[tracks.index] += 1.0
            least[tracks.index] = np.minimum(least[tracks.index],
                                             np.where(acquitted, nats, np.inf))
        # What one gap acquits is acquitted.
        return np.minimum(total / np.maximum(count, 1.0), least)

    def _over_gap(self, gap: int, tracks: GapTracks, weight: FloatArray, balanced: FloatArray,
                  graph: Graph, window: Window, seed: int) -> tuple[FloatArray, Mask]:
        """Estimate the world over one gap; return the contradiction and whom it acquits."""
        last = self._last.get(gap)
        flow, residual = fit_smooth_world(
            last.flow if last else np.zeros(8), last is not None,
            np.ascontiguousarray(tracks.rays[:2].T), np.ascontiguousarray(tracks.rays[2:].T),
            weight, tracks.focal, seed)
        variance = tracks.variance(FLOW_VARIANCE) + 0.5 * (
            tracks.covariance[:, 0] + tracks.covariance[:, 2])
        relief = RELIEF * weighted_median(residual, weight)
        # One pixel is forgiven: a lens that is no pinhole bends the flow by so much.
        smooth = np.minimum(0.5 * np.maximum(0.0, residual - 1.0) ** 2
                            / (variance + relief ** 2), CAP)
        motion, rigid = _fit_rigid(tracks, weight, last.motion if last else None, seed,
                                   FIT_CAP, FIT_CAP)
        flat = np.minimum(0.5 * residual ** 2 / variance, CAP)
        # What lies on the smooth flow does not contradict the world, whatever its parallax.
        rigid = np.minimum(rigid, flat)
        usual = weight * (smooth < SUSPICIOUS)
        gain = float((usual * (flat - rigid)).sum() / max(usual.sum(), 1e-9))
        share = 1.0 / (1.0 + (max(gain, 0.0) / DEPTH_GAIN) ** 4)
        nats, near = share * smooth + (1.0 - share) * rigid, None
        accused = nats
        if share > 0.5:
            nats, near = _acquit_near_ground(nats.copy(), smooth, tracks, weight, balanced, graph,
                                             window, last.near if last else None, seed)
        self._last[gap] = GapWorld(flow, motion, share, near)
        return nats, nats < accused


def _balanced_weights(window: Window) -> FloatArray:
    """Weigh tracks by 1 / sqrt(tracks in their cell): texture must not outvote the rest."""
    cell = np.maximum(window.x // (max(window.image_size) / CELLS), 0.0).astype(np.int64)
    key = cell[:, 1] * (2 * CELLS) + np.minimum(cell[:, 0], 2 * CELLS - 1)
    return np.asarray(1.0 / np.sqrt(np.bincount(key)[key]))


def tracks_of_gap(window: Window, gap: int, camera: Camera) -> GapTracks:
    """Collect the tracks that span a gap, as rays."""
    before = window.before[gap]
    index = np.flatnonzero(np.isfinite(before[:, 0]))
    k = camera.matrix
    focal, centre = np.array([k[0, 0], k[1, 1]]), k[:2, 2]
    old, new = before[index].T, window.x[index].T
    rays = np.empty((4, len(index)))
    np.divide(old - centre[:, None], focal[:, None], out=rays[:2])
    np.divide(new - centre[:, None], focal[:, None], out=rays[2:])
    dx, dy = new - old
    return GapTracks(index, rays, float(focal.mean()), window.covariance[index],
                     dx ** 2 + dy ** 2)


def _fit_rigid(tracks: GapTracks, weight: FloatArray, start: FloatArray | None,
               seed: int, cap: float, agree: float) -> tuple[FloatArray, FloatArray]:
    """Fit the rigid world; return its motion and the nats of every track."""
    forward = np.vstack([np.eye(3), [0.0, 0.0, 1.0]])
    motion = fit_rigid_world(
        forward if start is None else start, start is not None, tracks.rays, tracks.focal,
        tracks.covariance, tracks.variance(FIT_FLOW_VARIANCE), tracks.tolerance, weight, cap,
        agree, seed)
    nats = rigid_contradiction(
        motion, tracks.rays, tracks.focal, tracks.covariance, tracks.variance(FLOW_VARIANCE),
        tracks.tolerance, np.arange(len(weight)))
    return motion, nats


def refitted_nats(tracks: GapTracks, weight: FloatArray, start: FloatArray) -> FloatArray:
    """Return the nats of the tracks of positive weight under the pose that fits them best."""
    members = np.flatnonzero(weight > 0.0)
    variance, motion = tracks.variance(FIT_FLOW_VARIANCE), start.copy()
    precision = 2.0 * tracks.focal ** 2 / (
        variance + 0.5 * (tracks.covariance[:, 0] + tracks.covariance[:, 2]))
    refine_rigid(motion, tracks.rays, members, precision, weight, BEHIND_WEIGHT, 8)
    return np.asarray(rigid_contradiction(
        motion, tracks.rays, tracks.focal, tracks.covariance, variance, tracks.tolerance, members))


def _acquit_near_ground(nats: FloatArray, smooth: FloatArray, tracks: GapTracks,
                        weight: FloatArray, balanced: FloatArray, graph: Graph, window: Window,
                        start: FloatArray | None, seed: int
                        ) -> tuple[FloatArray, FloatArray | None]:
    """
    Acquit near static things before a flat background, such as rocks before a hillside.

    In two views they equal a body that moves. But they extend along the lower border of the
    image, and one rigid world that is fitted to them as well explains them.
    """
    suspicious = np.zeros(len(window), np.bool_)
    suspicious[tracks.index] = smooth > SUSPICIOUS
    group = graph.groups(suspicious)
    ground = np.isin(group, [g for g in np.unique(group[group >= 0])
                             if _touches_lower_border(window, group == g)])[tracks.index]
    if not ground.any():
        return nats, None
    # Near ground and the rest get the same weight, so that the background does not decide alone.
    share = weight[~ground].sum() / balanced[ground].sum()
    motion, rigid = _fit_rigid(tracks, np.where(ground, share * balanced, weight), start, seed,
                               CAP, np.inf)
    rigid = np.minimum(rigid, CAP)
    if rigid[ground].mean() < ACQUITTAL:
        for g in np.unique(group[tracks.index][smooth > SUSPICIOUS]):
            members = group[tracks.index] == g
            if rigid[members].mean() < ACQUITTAL:
                nats[members] = np.minimum(nats[members],
                                           np.maximum(rigid[members] - ACQUITTAL, 0.0))
    return nats, motion


def _touches_lower_border(window: Window, members: Mask) -> bool:
    """Tell whether a group has the lowest tracks along a part of the lower border."""
    width, height = window.image_size
    columns = 2 * CELLS
    column = np.clip(window.x[:, 0] // (width / columns), 0, columns - 1).astype(np.int64)
    lowest = np.full(columns, LOW * height)
    np.maximum.at(lowest, column[~members], window.x[~members, 1])
    below = np.unique(column[members & (window.x[:, 1] > lowest[column])])
    return int(members.sum()) >= SMALLEST and len(below) >= NEAR_GROUND * columns


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Return the median of values under weights."""
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    at = int(np.searchsorted(total, 0.5 * total[-1]))
    return float(values[order[min(at, len(values) - 1)]])


@kernel
def _systematic_sample(weight: FloatArray, count: int) -> IntArray:
    """Draw indices in proportion to the weights, one from each of ``count`` equal shares."""
    total = np.cumsum(weight)
    sample = np.empty(count, np.int64)
    for i in range(count):
        at = (i + np.random.random()) / count * total[-1]
        sample[i] = min(len(weight) - 1, np.searchsorted(total, at))
    return sample


@kernel
def fit_smooth_world(start: FloatArray, warm: bool, y1: FloatArray, y2: FloatArray,
                     weight: FloatArray, focal: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Fit the smooth flow of most of the image; return it and the residuals in pixels."""
    np.random.seed(seed)
    n, flow, scale = len(y1), y2 - y1, FLOW_SCALE_PX / focal
    sample, ones = _systematic_sample(weight, SAMPLE), np.ones(n)
    best, best_h, h = np.inf, np.zeros(8), np.zeros(8)
    # The last flow, no motion at all, and affine flows of four tracks compete.
    for k in range(-2 if warm else -1, FLOW_HYPOTHESES):
        h[:] = 0.0
        if k == -2:
            h[:] = start
            refine_flow(h, y2, flow, ones, sample, 4.0 * scale, PLANAR)
        elif k >= 0:
            four = sample[np.random.randint(0, SAMPLE, 4)]
            refine_flow(h, y2, flow, ones, four, 1e3, AFFINE)
        cost = 0.0
        for i in sample:
            rx, ry = flow_residual(h, y2[i, 0], y2[i, 1], flow[i, 0], flow[i, 1])
            cost += math.log(1.0 + (rx * rx + ry * ry) / (scale * scale))
        if cost < best:
            best = cost
            best_h[:] = h
    everyone = np.arange(n)
    for i in range(6):
        refine_flow(best_h, y2, flow, weight, everyone, scale * (4.0 if i < 2 else 1.0),
                    AFFINE if i < 1 else PLANAR)
    return best_h, focal * flow_residuals(best_h, y2, flow)


@kernel
def rigid_contradiction(motion: FloatArray, rays: FloatArray, focal: float,
                        covariance: FloatArray, variance: FloatArray, tolerance: FloatArray,
                        members: IntArray) -> FloatArray:
    """
    Return the nats by which members lie off their epipolar lines, or before they begin.

    ``tolerance`` is the negative parallax that is forgiven, in pixels.
    """
    matrix, nats = np.empty((3, 3)), np.empty(len(members))
    essential(motion, matrix)
    e, r, t = entries(matrix), entries(motion), (motion[3, 0], motion[3, 1], motion[3, 2])
    for i in range(len(members)):
        n = members[i]
        x, y, u, v = rays[0, n], rays[1, n], rays[2, n], rays[3, n]
        p, gx, gy, _, _ = parallax(r, t, x, y, u, v)
        _, _, _, _, c, q = epipolar(e, x, y, u, v)
        # The Sampson distance is shared by both frames; the displacement has twice its square.
        distance2 = 2.0 * c * c / q * focal * focal
        xx, xy, yy = covariance[n, 0], covariance[n, 1], covariance[n, 2]
        across = variance[n] + xx * gy * gy - 2.0 * xy * gx * gy + yy * gx * gx
        along = variance[n] + xx * gx * gx + 2.0 * xy * gx * gy + yy * gy * gy
        behind = min(0.0, p * focal + tolerance[n])
        nats[i] = 0.5 * distance2 / across + 0.5 * behind * behind / along
    return nats


@kernel
def _capped_cost(motion: FloatArray, rays: FloatArray, focal: float, covariance: FloatArray,
                 variance: FloatArray, tolerance: FloatArray, members: IntArray,
                 cap: float) -> float:
    """Return the capped contradiction of the members; the sign of t is chosen, in place."""
    forward = np.minimum(rigid_contradiction(
        motion, rays, focal, covariance, variance, tolerance, members), cap).sum()
    motion[3] *= -1.0
    backward = np.minimum(rigid_contradiction(
        motion, rays, focal, covariance, variance, tolerance, members), cap).sum()
    if forward <= backward:
        motion[3] *= -1.0
    return min(forward, backward)


@kernel
def fit_rigid_world(start: FloatArray, warm: bool, rays: FloatArray, focal: float,
                    covariance: FloatArray, variance: FloatArray, tolerance: FloatArray,
                    weight: FloatArray, cap: float, agree: float, seed: int) -> FloatArray:
    """
    Fit (R, t): the last motion and those of seven tracks compete; then the best is refined.

    ``cap`` is the most nats of a track in the competition; tracks up to ``agree`` refine.
    """
    np.random.seed(seed)
    n = rays.shape[1]
    ones, everyone = np.ones(n), np.arange(n)
    precision = 2.0 * focal * focal / (variance + 0.5 * (covariance[:, 0] + covariance[:, 2]))
    sample = _systematic_sample(weight, SAMPLE)
    best, best_motion, motion = np.inf, start.copy(), start.copy()
    for k in range(-1 if warm else 0, POSE_HYPOTHESES if warm else COLD_HYPOTHESES):
        motion[:] = start
        if k < 0:
            refine_rigid(motion, rays, sample, precision, ones, 0.0, 3)
        else:
            for i in range(3):
                motion[3, i] = np.random.normal()
            motion[3] /= math.sqrt(motion[3, 0] ** 2 + motion[3, 1] ** 2 + motion[3, 2] ** 2)
            seven = sample[np.random.randint(0, SAMPLE, 7)]
            refine_rigid(motion, rays, seven, precision, ones, 0.0, 8)
        cost = _capped_cost(motion, rays, focal, covariance, variance, tolerance, sample, cap)
        if cost < best:
            best = cost
            best_motion[:] = motion
    # Only tracks that agree refine the pose: a large body would bend it.
    for limit in (2.0 * agree, agree):
        nats = rigid_contradiction(best_motion, rays, focal, covariance, variance, tolerance,
                                   everyone)
        refine_rigid(best_motion, rays, np.flatnonzero(nats < limit), precision, weight,
                     BEHIND_WEIGHT, 8)
    _capped_cost(best_motion, rays, focal, covariance, variance, tolerance, sample, cap)
    return best_motion
