# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The motion of most of the image: one smooth flow, and one rigid (R, t); compiled.

Both are fitted by sampling: hypotheses compete on a sample of the tracks, and all tracks refine
the best one. Costs are in nats: (residual / noise)^2 / 2.
"""

import math
from typing import NamedTuple

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inlined, inner_kernel, kernel
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.homography import AFFINE, flow_residual, PLANAR, refine_flow
from gdm_motion_seg.geometry.rigid import (
    copy, entries, epipolar, essential, parallax, refine_rigid)

POINT_VARIANCE = 0.08
"""Variance of a displacement in square pixels: 0.2 px at both ends of a track."""
FLOW_VARIANCE = 2e-4
"""Per square pixel of flow: patches change as they move, and no lens is a pinhole."""
STRICT_FLOW_VARIANCE = FLOW_VARIANCE / 4.0
"""The same while motions compete."""
BEHIND_PX, BEHIND_SHARE = 1.0, 0.03
"""Tolerated negative parallax, in pixels and per pixel of flow: the focal length is guessed."""
BEHIND_WEIGHT = 0.1
"""Weight of negative parallax in the refinement; without it the turn along t is nearly free."""
SAMPLE = 300
"""Tracks on which hypotheses compete: more do not change which one wins."""
FLOW_HYPOTHESES, POSE_HYPOTHESES, COLD_HYPOTHESES = 20, 12, 60
"""Flows of four tracks; poses of seven, with and without a pose of the frame before."""
FLOW_SCALE_PX = 2.0
"""Scale of the robust loss of the smooth flow, in pixels."""


class RayTracks(NamedTuple):
    """Tracks over one gap as rays, with their noise."""

    rays: FloatArray
    """(4, M) rays at depth 1: x, y of the older frame, x, y of the newer one."""
    focal: float
    """Pixels per unit of the rays."""
    covariance: FloatArray
    """(M, 3) xx, xy, yy of the position noise, in square pixels."""
    variance: FloatArray
    """(M,) of a displacement, position noise aside, in square pixels."""
    strict: FloatArray
    """(M,) the same while motions compete: a lenient test would not tell them apart."""
    tolerance: FloatArray
    """(M,) negative parallax that is forgiven, in pixels."""

    @property
    def total_variance(self) -> FloatArray:
        """Return the mean variance of a displacement over all directions, in square pixels."""
        return self.variance + 0.5 * (self.covariance[:, 0] + self.covariance[:, 2])


def ray_tracks(x1: FloatArray, x2: FloatArray, covariance: FloatArray,
               camera: Camera) -> RayTracks:
    """Turn pixels (M, 2) of both frames into rays, with the noise of the displacements."""
    k = camera.matrix
    focal, centre = np.array([k[0, 0], k[1, 1]])[:, None], k[:2, 2:]
    rays, (dx, dy) = np.empty((4, len(x1))), (x2 - x1).T
    np.divide(x1.T - centre, focal, out=rays[:2])
    np.divide(x2.T - centre, focal, out=rays[2:])
    moved2 = dx ** 2 + dy ** 2
    return RayTracks(rays, float(focal.mean()), covariance,
                     POINT_VARIANCE + FLOW_VARIANCE * moved2,
                     POINT_VARIANCE + STRICT_FLOW_VARIANCE * moved2,
                     BEHIND_PX + BEHIND_SHARE * np.sqrt(moved2))


@inner_kernel
def _systematic_sample(weight: FloatArray, count: int) -> IntArray:
    """Draw indices in proportion to the weights, one from each of ``count`` equal shares."""
    total, last = 0.0, len(weight) - 1
    for w in weight:
        total += w
    sample = np.empty(count, np.int64)
    n, below = 0, weight[0]
    for i in range(count):
        at = (i + np.random.random()) / count * total
        while below < at and n < last:
            n += 1
            below += weight[n]
        sample[i] = n
    return sample


@inner_kernel
def _draw(sample: IntArray, drawn: IntArray) -> None:
    """Draw members of a sample at random, with replacement."""
    for i in range(len(drawn)):
        drawn[i] = sample[np.random.randint(0, SAMPLE)]


@kernel
def fit_smooth_world(start: FloatArray, warm: bool, y1: FloatArray, y2: FloatArray,
                     weight: FloatArray, focal: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Fit the smooth flow of most of the image; return it and the residuals in pixels."""
    np.random.seed(seed)
    n, scale = len(y1), FLOW_SCALE_PX / focal
    flow, ones, everyone = np.empty((n, 2)), np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        flow[i, 0], flow[i, 1] = y2[i, 0] - y1[i, 0], y2[i, 1] - y1[i, 1]
        ones[i], everyone[i] = 1.0, i
    sample, four = _systematic_sample(weight, SAMPLE), np.empty(4, np.int64)
    best, best_h, h = np.inf, np.empty(8), np.empty(8)
    # The last flow, no motion at all, and affine flows of four tracks compete.
    for k in range(-2 if warm else -1, FLOW_HYPOTHESES):
        for i in range(8):
            h[i] = start[i] if k == -2 else 0.0
        if k == -2:
            refine_flow(h, y2, flow, ones, sample, 4.0 * scale, PLANAR)
        elif k >= 0:
            _draw(sample, four)
            refine_flow(h, y2, flow, ones, four, 1e3, AFFINE)
        cost = 0.0
        for i in sample:
            rx, ry = flow_residual(h, y2[i, 0], y2[i, 1], flow[i, 0], flow[i, 1])
            cost += math.log(1.0 + (rx * rx + ry * ry) / (scale * scale))
            if cost > best:
                break
        if cost < best:
            best = cost
            for i in range(8):
                best_h[i] = h[i]
    refine_flow(best_h, y2, flow, ones, sample, 4.0 * scale, AFFINE)
    refine_flow(best_h, y2, flow, ones, sample, 4.0 * scale, PLANAR)
    for _ in range(4):
        refine_flow(best_h, y2, flow, weight, everyone, scale, PLANAR)
    residuals = np.empty(n)
    for i in range(n):
        rx, ry = flow_residual(best_h, y2[i, 0], y2[i, 1], flow[i, 0], flow[i, 1])
        residuals[i] = math.sqrt(rx * rx + ry * ry) * focal
    return best_h, residuals


@inlined
def _nats(e: tuple[float, ...], r: tuple[float, ...], t: tuple[float, ...], tracks: RayTracks,
          variance: FloatArray, n: int) -> tuple[float, float]:
    """Return the nats by which a track contradicts (R, t), and by which it does (R, -t)."""
    focal, rays = tracks.focal, tracks.rays
    x, y, u, v = rays[0, n], rays[1, n], rays[2, n], rays[3, n]
    p, gx, gy, _, _ = parallax(r, t, x, y, u, v)
    _, _, _, _, c, q = epipolar(e, x, y, u, v)
    xx, xy, yy = tracks.covariance[n, 0], tracks.covariance[n, 1], tracks.covariance[n, 2]
    across = variance[n] + xx * gy * gy - 2.0 * xy * gx * gy + yy * gx * gx
    along = variance[n] + xx * gx * gx + 2.0 * xy * gx * gy + yy * gy * gy
    # The Sampson distance is shared by both frames; the displacement has twice its square.
    off = c * c / q * focal * focal / across
    behind = min(0.0, tracks.tolerance[n] + p * focal)
    before = min(0.0, tracks.tolerance[n] - p * focal)
    return off + 0.5 * behind * behind / along, off + 0.5 * before * before / along


@kernel
def rigid_contradiction(motion: FloatArray, tracks: RayTracks,
                        variance: FloatArray) -> FloatArray:
    """Return the nats by which tracks lie off their epipolar lines, or before they begin."""
    matrix, nats = np.empty((3, 3)), np.empty(len(variance))
    essential(motion, matrix)
    e, r, t = entries(matrix), entries(motion), (motion[3, 0], motion[3, 1], motion[3, 2])
    for n in range(len(nats)):
        nats[n], _ = _nats(e, r, t, tracks, variance, n)
    return nats


@inner_kernel
def _capped_cost(motion: FloatArray, tracks: RayTracks, members: IntArray, cap: float,
                 most: float) -> float:
    """Return the capped contradiction of the members; the sign of t is chosen, in place."""
    matrix, forward, backward = np.empty((3, 3)), 0.0, 0.0
    essential(motion, matrix)
    e, r, t = entries(matrix), entries(motion), (motion[3, 0], motion[3, 1], motion[3, 2])
    for n in members:
        one, other = _nats(e, r, t, tracks, tracks.strict, n)
        forward += min(one, cap)
        backward += min(other, cap)
        if min(forward, backward) > most:
            break  # the motion cannot win any more
    if backward < forward:
        for i in range(3):
            motion[3, i] = -motion[3, i]
    return min(forward, backward)


@kernel
def fit_rigid_world(start: FloatArray, warm: bool, tracks: RayTracks, weight: FloatArray,
                    cap: float, seed: int) -> FloatArray:
    """
    Fit (R, t): the last motion and those of seven tracks compete; then the best is refined.

    ``cap`` is the most nats of a track in the competition; tracks below it refine.
    """
    np.random.seed(seed)
    n, focal, rays = tracks.rays.shape[1], tracks.focal, tracks.rays
    ones, everyone, precision = np.empty(n), np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        ones[i], everyone[i] = 1.0, i
        precision[i] = 2.0 * focal * focal / (
            tracks.strict[i] + 0.5 * (tracks.covariance[i, 0] + tracks.covariance[i, 2]))
    sample, seven = _systematic_sample(weight, SAMPLE), np.empty(7, np.int64)
    best, motion, best_motion = np.inf, np.empty((4, 3)), np.empty((4, 3))
    copy(start, best_motion)
    for k in range(-1 if warm else 0, POSE_HYPOTHESES if warm else COLD_HYPOTHESES):
        copy(start, motion)
        if k < 0:
            refine_rigid(motion, rays, sample, precision, ones, 0.0, 3)
        else:
            for i in range(3):
                motion[3, i] = np.random.normal()
            norm = math.sqrt(motion[3, 0] ** 2 + motion[3, 1] ** 2 + motion[3, 2] ** 2)
            for i in range(3):
                motion[3, i] /= norm
            _draw(sample, seven)
            refine_rigid(motion, rays, seven, precision, ones, 0.0, 8)
        cost = _capped_cost(motion, tracks, sample, cap, best)
        if cost < best:
            best = cost
            copy(motion, best_motion)
    # Only tracks that agree refine the pose: a large body would bend it.
    for limit in (2.0 * cap, cap):
        nats, count = rigid_contradiction(best_motion, tracks, tracks.strict), 0
        agreeing = np.empty(n, np.int64)
        for i in range(n):
            if nats[i] < limit:
                agreeing[count] = i
                count += 1
        refine_rigid(best_motion, rays, agreeing[:count], precision, weight, BEHIND_WEIGHT, 8)
    _capped_cost(best_motion, tracks, sample, cap, np.inf)
    return best_motion


def refitted_nats(tracks: RayTracks, start: FloatArray) -> FloatArray:
    """Return the nats of all tracks under the pose that fits them best, from a start."""
    everyone, motion = np.arange(tracks.rays.shape[1]), start.copy()
    noise = tracks.strict + 0.5 * (tracks.covariance[:, 0] + tracks.covariance[:, 2])
    refine_rigid(motion, tracks.rays, everyone, 2.0 * tracks.focal ** 2 / noise,
                 np.ones(len(everyone)), BEHIND_WEIGHT, 8)
    return rigid_contradiction(motion, tracks, tracks.strict)
