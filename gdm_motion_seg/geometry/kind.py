# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What kind of two-view geometry a motion has, and why.

The choice between a fundamental matrix and a homography is one between a model that leaves each
point a dimension of freedom (its depth) and one that does not. As in Torr's GRIC (An assessment of
information criteria for motion model selection, CVPR 1997), the first has to pay for that freedom;
it pays more where there are few points, so that a handful of points on a plane is not called
general by chance.
"""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.embedding import pixel_unit
from gdm_motion_seg.geometry.fundamental import MIN_POINTS, sampson_distances
from gdm_motion_seg.geometry.homography import (
    cauchy_cost, fit_homography, homography_distances, MIN_POINTS as MIN_POINTS_H,
    normalize_homography)
from gdm_motion_seg.geometry.numerics import median, noise_scale, PRIOR_NOISE_PX
from gdm_motion_seg.geometry.pose import aligning_rotation, rays_of

MODEL_TOLERANCE = 0.5
"""Squared noise per point by which a rotation may fit worse than a free homography: lens and focal
length are never known exactly."""
CAP = 50.0
"""Squared noise from which on a residual counts no more: it is an outlier."""
PRICE_OF_DEPTH, PRICE_FOR_FEW, HIGHEST_PRICE = 2.0, 100.0, 8.0
"""Squared noise that the freedom of a point along its epipolar line must save: the first, plus the
second over the number of points, up to the third. In GRIC it is ln 4; but on a plane F may choose
its epipole to suit the noise. At this price 99 % of simulated planes with up to 1 px of noise stay
planes."""
FOCAL_FACTORS, FINE_FACTORS, FINEST_FACTORS = (
    np.array([[[f, f, 1.0], [1.0, f, 1.0], [1.0, 1.0, 1.0]] for f in np.geomspace(low, high, 7)])
    for low, high in ((0.4, 1.4), (0.85, 1.18), (0.95, 1.05)))
"""Factors of K: focal lengths of 0.5 to 1.7 times the longer side, and around the best ones."""
SEARCH_POINTS = 150
"""Points on which focal lengths are compared."""


class MotionKind(str, Enum):
    """What two-view geometry a motion has."""

    GENERAL = 'general'
    """A fundamental matrix is determined."""
    PLANAR = 'planar'
    """The points lie on a plane: a homography holds, F is one of a family."""
    NO_PARALLAX = 'no parallax'
    """Pure rotation, or no motion: a homography of the whole image holds, F is arbitrary."""
    TOO_FEW = 'too few points'
    """Fewer than eight points: no F can be estimated."""
    NON_RIGID = 'non-rigid'
    """The points move against the world, but not as one rigid body: no F holds."""

    @property
    def code(self) -> int:
        """Return a number for messages: 0 general, 1 planar, 2 no parallax, 3 few, 4 bends."""
        return list(MotionKind).index(self)


@dataclass(frozen=True)
class KindDecision:
    """The kind of a motion, why, and the models that came up on the way."""

    kind: MotionKind
    reason: str
    """In a sentence."""
    noise_px: float
    """Standard deviation of the noise of a coordinate, estimated from the residuals."""
    homography: FloatArray = field(default_factory=lambda: np.full((3, 3), np.nan))
    """(3, 3); NaN where no homography explains the points."""
    rotation: FloatArray = field(default_factory=lambda: np.full((3, 3), np.nan))
    """(3, 3) rotation of the camera where that alone explains the points; NaN elsewhere."""


def classify_motion(x1: FloatArray, x2: FloatArray, fundamental: FloatArray,
                    camera: Camera) -> KindDecision:
    """
    Tell general, planar, parallax-free and too small motions apart.

    ``x1`` and ``x2`` (N, 2) are pixels of the motion's points, of which a few may be wrong;
    ``fundamental`` was refined on them, and is not used for fewer than 8. The camera's K tells a
    rotation from a plane; where it is a guess, other focal lengths are tried.
    """
    unit, n = pixel_unit(camera.image_size), len(x1)
    if n < MIN_POINTS or _distinct_points(x1, x2) < MIN_POINTS:
        return _too_few(x1, x2, unit)
    epipolar = sampson_distances(fundamental, x1, x2)
    noise = noise_scale(epipolar, unit, 1, 7)
    homography = fit_homography(x1, x2, 3.0 * noise)
    transfer = homography_distances(homography, x1, x2)
    depth = median(transfer)
    saved = _capped(transfer, noise) - _capped(epipolar, noise)
    price = min(PRICE_OF_DEPTH + PRICE_FOR_FEW / n, HIGHEST_PRICE)
    on_line = min(_thickness(x1), _thickness(x2)) < 2.0 * noise
    if saved > price * (n - 1) and not on_line:
        return KindDecision(MotionKind.GENERAL, f'depth displaces the points by {depth:.1f} px '
                            f'against a noise of {noise:.2f} px', noise)
    # F may have followed the noise with the freedom that a plane leaves it: the homography, with
    # two residuals per point, tells more about the noise.
    noise = noise_scale(transfer, unit, 2, 8)
    against = f'against a noise of {noise:.2f} px'
    tolerated = _capped(transfer, noise) + MODEL_TOLERANCE * n + 5.0 * np.log(4.0 * n)
    if _capped(homography_distances(np.eye(3), x1, x2), noise) <= tolerated:
        flow = median(np.hypot(*(x2 - x1).T))
        return KindDecision(
            MotionKind.NO_PARALLAX,
            f'the points do not move: {flow:.2f} px {against}, and F is arbitrary', noise,
            np.eye(3), np.eye(3))
    rotation, turned = _rotation(x1, x2, camera, 3.0 * noise, transfer)
    if _capped(homography_distances(turned, x1, x2), noise) <= tolerated:
        angle = np.degrees(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0)))
        return KindDecision(
            MotionKind.NO_PARALLAX, f'a rotation of the camera by {angle:.2f} degrees explains '
            f'all points {against}, and F is arbitrary', noise, normalize_homography(turned),
            rotation)
    return KindDecision(
        MotionKind.PLANAR, f'the points lie on a {"line" if on_line else "plane"}: a homography '
        f'misses them by {depth:.1f} px {against}, and F is one of a family', noise, homography)


def _too_few(x1: FloatArray, x2: FloatArray, unit: float) -> KindDecision:
    distinct, noise = _distinct_points(x1, x2), PRIOR_NOISE_PX * unit
    points = f'{len(x1)} points' if len(x1) == distinct else (
        f'{distinct} different points among {len(x1)}')
    reason = f'{points}: a fundamental matrix needs {MIN_POINTS}'
    if distinct < MIN_POINTS_H:
        return KindDecision(MotionKind.TOO_FEW, reason, noise)
    return KindDecision(MotionKind.TOO_FEW, reason, noise, fit_homography(x1, x2, 3.0 * noise))


def _distinct_points(x1: FloatArray, x2: FloatArray) -> int:
    """Count different correspondences, no further than is needed."""
    seen: set[bytes] = set()
    for row in np.hstack([x1, x2]):
        seen.add(row.tobytes())
        if len(seen) == MIN_POINTS:
            break
    return len(seen)


def _rotation(x1: FloatArray, x2: FloatArray, camera: Camera, loss: float,
              transfer: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rotation R that explains most points, and K R K^-1; K is searched if guessed."""
    weights = 1.0 / (1.0 + (transfer / loss) ** 2)
    k = camera.matrix
    if camera.is_guess:
        some = slice(None, None, max(1, len(x1) // SEARCH_POINTS))
        y1, y2, w = x1[some], x2[some], weights[some]
        for factors in (FOCAL_FACTORS, FINE_FACTORS, FINEST_FACTORS):
            trials = k * factors
            _, turned = _turned(y1, y2, w, trials)
            k = trials[np.argmin([cauchy_cost(h, y1, y2, loss) for h in turned])]
    return _turned(x1, x2, weights, k)


def _turned(x1: FloatArray, x2: FloatArray, weights: FloatArray,
            k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rotation under each of (..., 3, 3) camera matrices, and its homography."""
    rotation = aligning_rotation(rays_of(x1, k), rays_of(x2, k), weights)
    return rotation, np.asarray(k @ rotation @ np.linalg.inv(k))


def _capped(distances: FloatArray, noise: float) -> float:
    """Sum the squared distances over the noise, each no larger than CAP."""
    return float(np.minimum((distances / noise) ** 2, CAP).sum())


def _thickness(points: FloatArray) -> float:
    """Return the spread (standard deviation) across the line that fits the points best."""
    centred = points - points.mean(axis=0)
    return float(np.sqrt(max(np.linalg.eigvalsh(centred.T @ centred)[0], 0.0) / len(points)))
