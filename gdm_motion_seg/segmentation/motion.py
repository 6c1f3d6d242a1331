# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""From the members of a motion to its two-view geometry."""

import numpy as np

from gdm_motion_seg.gdm.dimension import empirical_dimension
from gdm_motion_seg.geometry import _epipolar
from gdm_motion_seg.geometry.calibrated import recover_pose
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.geometry.embedding import embed
from gdm_motion_seg.geometry.fundamental import MIN_POINTS, sampson_distances
from gdm_motion_seg.geometry.homography import homography_distances
from gdm_motion_seg.geometry.kind import (
    classify_motion, KindDecision, MotionKind, noise_scale, pixel_unit)
from gdm_motion_seg.segmentation.result import Motion

KAPPA_SIGMAS = 2.5
"""kappa over the noise: one inlier in eighty is lost."""
KAPPA_FLOOR_PX = 0.5
"""Smallest kappa at 640 pixels: under it a lens that is not quite a pinhole looks like outliers."""
KAPPA_CEILING_PX = 6.0
"""Largest kappa at 640 pixels: a motion with more noise than that has swallowed another one."""
LOSS_SIGMAS = 2.385
"""Scale of the Cauchy loss over the noise: 95 % efficiency under Gaussian noise."""
_NAN3 = np.full(3, np.nan)
_NAN33 = np.full((3, 3), np.nan)


def estimate_motion(correspondences: Correspondences, members: IntArray, motion_id: int,
                    kappa_px: float = 0.0, epsilon: float = 0.35,
                    camera: Camera | None = None) -> Motion:
    """
    Estimate everything that is told about one motion from the points that follow it.

    Parameters
    ----------
    correspondences : Correspondences
        All points of the pair, undistorted where the lens is known.
    members : (M,) array of int
        Indices of the motion's points; a few wrong ones among them do no harm.
    motion_id : int
        The motion's identity.
    kappa_px : float
        Largest Sampson distance of an inlier; 0 estimates it from the residuals.
    epsilon : float
        Of the empirical dimension.
    camera : Camera, optional
        Its K is used for (R, t); the usual guess by default.

    Returns
    -------
    Motion
        Of the kind TOO_FEW, with the reason, where there are fewer than eight different points.

    """
    index = np.ascontiguousarray(members, np.int64)
    points = correspondences.take(index)
    camera = camera or Camera.guess(correspondences.image_size)
    unit = pixel_unit(correspondences.image_size)
    fundamental = robust_fundamental(points.x1, points.x2, unit)
    decision = classify_motion(points.x1, points.x2, fundamental, camera)
    if decision.kind is MotionKind.TOO_FEW:
        fundamental = _NAN33.copy()
    distances = _distances(points, fundamental, decision)
    rotation, translation = _pose(points, fundamental, decision, camera)
    return Motion(
        id=motion_id, members=index, kind=decision.kind, reason=decision.reason,
        fundamental=fundamental, homography=decision.homography,
        dimension=empirical_dimension(embed(points), epsilon),
        residual=float(np.median(distances)) if len(distances) else np.inf,
        threshold=kappa_px or inlier_threshold(distances, unit),
        rotation=rotation, translation=translation)


def robust_fundamental(x1: FloatArray, x2: FloatArray, unit: float) -> FloatArray:
    """
    Fundamental matrix of one motion's points, of which a few may be wrong.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels.
    unit : float
        :func:`pixel_unit` of the image.

    Returns
    -------
    (3, 3) array
        Eight-point fit, reweighted once, then refined under a Cauchy loss whose scale follows the
        residuals. NaN for fewer than eight points.

    """
    if len(x1) < MIN_POINTS:
        return _NAN33.copy()
    ones = np.ones(len(x1))
    fundamental = _epipolar.eight_point(x1, x2, ones)
    distances = sampson_distances(fundamental, x1, x2)
    loss = LOSS_SIGMAS * noise_scale(distances, 7, unit)
    weights = 1.0 / (1.0 + (distances / loss) ** 2)
    reweighted = _epipolar.eight_point(x1, x2, weights)
    for _ in range(2):
        loss = LOSS_SIGMAS * noise_scale(sampson_distances(reweighted, x1, x2), 7, unit)
        reweighted = _epipolar.refine_rank_two(reweighted, x1, x2, ones, loss, 20, 1e-5)
    return reweighted


def inlier_threshold(distances: FloatArray, unit: float) -> float:
    """
    Threshold kappa from a motion's own residuals.

    Parameters
    ----------
    distances : (N,) array
        Sampson distances in pixels.
    unit : float
        :func:`pixel_unit` of the image.

    Returns
    -------
    float
        2.5 standard deviations of the noise in pixels, between a floor and a ceiling that grow
        with the image.

    """
    kappa = KAPPA_SIGMAS * noise_scale(distances, 7, unit)
    return float(np.clip(kappa, KAPPA_FLOOR_PX * unit, KAPPA_CEILING_PX * unit))


def _distances(points: Correspondences, fundamental: FloatArray,
               decision: KindDecision) -> FloatArray:
    """Sampson distances to F, to the homography where there is no F, or none."""
    if decision.kind is not MotionKind.TOO_FEW:
        return sampson_distances(fundamental, points.x1, points.x2)
    if np.isnan(decision.homography).any():
        return np.zeros(0)
    return homography_distances(decision.homography, points.x1, points.x2)


def _pose(points: Correspondences, fundamental: FloatArray, decision: KindDecision,
          camera: Camera) -> tuple[FloatArray, FloatArray]:
    """Rotation and direction of translation, NaN where the kind leaves them open."""
    if decision.kind is not MotionKind.GENERAL:
        return decision.rotation, _NAN3.copy()
    pose = recover_pose(fundamental, points.x1, points.x2, camera.matrix,
                        loss_px=LOSS_SIGMAS * decision.noise_px)
    return pose.rotation, pose.translation
