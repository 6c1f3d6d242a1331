# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What kind of two-view geometry a motion has, and why.

The choice between a fundamental matrix and a homography is one between a model that leaves each
point a dimension of freedom (its depth) and one that does not: in the spirit of Torr's GRIC, the
first must pay for that freedom, and pay more where there are few points, so that a handful of
points on a plane is not called general by chance.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from gdm_motion_seg.geometry import _selection
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.fundamental import checked_points, MIN_POINTS
from gdm_motion_seg.geometry.homography import (
    MIN_POINTS as MIN_POINTS_H, normalize_homography)
from gdm_motion_seg.geometry.normalization import pixel_unit

LOSS_SIGMAS = _selection.LOSS_SIGMAS
"""Scale of a Cauchy loss over the noise."""


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
    homography: FloatArray
    """(3, 3); NaN where no homography explains the points."""
    rotation: FloatArray
    """(3, 3) rotation of the camera where that alone explains the points; NaN elsewhere."""
    noise_px: float
    """Standard deviation of the noise of a coordinate, estimated from the residuals."""


def classify_motion(x1: FloatArray, x2: FloatArray, fundamental: FloatArray,
                    camera: Camera) -> KindDecision:
    """
    Tell general, planar, parallax-free and too small motions apart.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels of the motion's points; a few wrong ones do no harm.
    fundamental : (3, 3) array
        Fundamental matrix refined on these points; not looked at if there are fewer than 8.
    camera : Camera
        Its K tells a rotation from a plane; where it is a guess, other focal lengths are tried.

    Returns
    -------
    KindDecision
        What the motion is, and why.

    References
    ----------
    Torr, An assessment of information criteria for motion model selection, CVPR 1997.

    """
    a1, a2 = checked_points(x1, x2)
    unit = pixel_unit(camera.image_size)
    distinct = _selection.distinct_points(a1, a2, MIN_POINTS)
    if distinct < MIN_POINTS:
        return _too_few(a1, a2, distinct, unit)
    case, noise, depth, homography, rotation = _selection.select(
        a1, a2, np.ascontiguousarray(fundamental, np.float64), camera.matrix, camera.is_guess,
        unit)
    against = f'against a noise of {noise:.2f} px'
    if case == _selection.GENERAL:
        return KindDecision(MotionKind.GENERAL,
                            f'depth displaces the points by {depth:.1f} px {against}',
                            _nan33(), _nan33(), noise)
    homography = normalize_homography(homography)
    if case in (_selection.ON_PLANE, _selection.ON_LINE):
        place = 'plane' if case == _selection.ON_PLANE else 'line'
        return KindDecision(MotionKind.PLANAR,
                            f'the points lie on a {place}: a homography misses them by '
                            f'{depth:.1f} px {against}, and F is one of a family',
                            homography, _nan33(), noise)
    if case == _selection.STILL:
        flow = float(np.median(np.hypot(*(a2 - a1).T)))
        reason = f'the points do not move: {flow:.2f} px {against}, and F is arbitrary'
    else:
        angle = np.degrees(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0)))
        reason = (f'a rotation of the camera by {angle:.2f} degrees explains all points '
                  f'{against}, and F is arbitrary')
    return KindDecision(MotionKind.NO_PARALLAX, reason, homography, rotation, noise)


def noise_scale(distances: FloatArray, unit: float) -> float:
    """
    Noise of a coordinate, from the Sampson distances to a fitted fundamental matrix.

    Parameters
    ----------
    distances : (N,) array
        Pixels.
    unit : float
        The image's size relative to 640 pixels (see ``pixel_unit``).

    Returns
    -------
    float
        Standard deviation in pixels. Robust, corrected for the seven parameters of the fit, drawn
        towards what trackers usually do where there are few points, and never zero.

    """
    return _selection.noise_scale(np.ascontiguousarray(distances, np.float64), 1, 7, unit)


def _too_few(x1: FloatArray, x2: FloatArray, distinct: int, unit: float) -> KindDecision:
    points = f'{len(x1)} points' if len(x1) == distinct else (
        f'{distinct} different points among {len(x1)}')
    noise = _selection.PRIOR_NOISE_PX * unit
    homography = _nan33()
    if distinct >= MIN_POINTS_H:
        homography = normalize_homography(_selection.robust_homography(x1, x2, 3.0 * noise))
    return KindDecision(MotionKind.TOO_FEW, f'{points}: a fundamental matrix needs {MIN_POINTS}',
                        homography, _nan33(), noise)


def _nan33() -> FloatArray:
    return np.full((3, 3), np.nan)
