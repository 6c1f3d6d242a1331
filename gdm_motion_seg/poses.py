# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Poses of motions with their errors, and time to contact.

A pose is that of the calibrated form x2 ~ K (R X + t), X in the older camera's frame. For the
static world it is the ego-motion of the camera: its inverse takes the camera from the older to the
newer frame. For a body it is the motion relative to the camera.
"""

from dataclasses import dataclass
import math

import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray
from gdm_motion_seg.segmentation.result import Motion

LEAST_POINTS = 8
"""With fewer points no error of a pose can be stated."""
ROUNDS = 5
"""Of the refinement: it starts near its end."""
LOSS_PX = 0.5
"""Residual in pixels from which on a point counts less."""
LEAST_SPREAD_PX = 4.0
"""Points that lie closer together show no expansion."""
SURE = 2.0
"""An expansion of so many standard deviations counts as one."""


@dataclass(frozen=True)
class MotionPose:
    """Rotation and direction of translation of a motion, with standard errors."""

    rotation: FloatArray
    """(3, 3) R."""
    translation: FloatArray
    """(3,) direction of t, of unit length; zeros where the points leave it open."""
    rotation_error_deg: float
    """Standard error of the rotation: root of the sum of the variances of its three angles."""
    direction_error_deg: float
    """Standard error of the direction; 180 where it is open."""

    @property
    def has_translation(self) -> bool:
        """Whether the points determine a direction of translation."""
        return bool(self.translation.any())


@dataclass(frozen=True)
class Contact:
    """Time until a body reaches the camera's plane, if both go on as they do."""

    seconds: float
    """From the newer frame on."""
    error_s: float
    """Standard error."""


def motion_pose(motion: Motion, points: Correspondences, camera_matrix: FloatArray
                ) -> MotionPose | None:
    """
    Refine the pose of a motion and state its error.

    Parameters
    ----------
    motion :
        A motion whose ``rotation`` is a start; None is returned if it has none.
    points :
        The pair's points without lens distortion, to which ``motion.members`` refer.
    camera_matrix :
        (3, 3) K of both views.

    """
    members = motion.members
    if not np.isfinite(motion.rotation).all() or len(members) < LEAST_POINTS:
        return None
    inverse = np.asarray(np.linalg.inv(camera_matrix), np.float64)
    rays1, rays2 = (_rays(x[members], inverse) for x in (points.x1, points.x2))
    focal = 0.5 * (camera_matrix[0, 0] + camera_matrix[1, 1])
    if not np.isfinite(motion.translation).all():
        return _turn_only(motion.rotation, rays1, rays2, focal)
    rotation, t = motion.rotation, motion.translation / np.linalg.norm(motion.translation)
    for _ in range(ROUNDS):
        residual, jacobian, basis = _epipolar(rotation, t, rays1, rays2, focal)
        weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
        normal = jacobian.T @ (weight[:, None] * jacobian)
        step = -np.linalg.lstsq(normal, jacobian.T @ (weight * residual), rcond=None)[0]
        step *= min(1.0, 0.1 / max(float(np.linalg.norm(step)), 1e-12))
        rotation = rotation_of(step[:3]) @ rotation
        t = t + basis.T @ step[3:]
        t /= np.linalg.norm(t)
    residual, jacobian, _ = _epipolar(rotation, t, rays1, rays2, focal)
    covariance = _covariance(residual, jacobian)
    return MotionPose(rotation, t, math.degrees(math.sqrt(np.trace(covariance[:3, :3]))),
                      min(180.0, math.degrees(math.sqrt(np.trace(covariance[3:, 3:])))))


def time_to_contact(x1: FloatArray, x2: FloatArray, seconds: float) -> Contact | None:
    """
    Return the time to contact of a body from the expansion of its points.

    Parameters
    ----------
    x1, x2 :
        (N, 2) pixels of its points in the older and the newer frame.
    seconds :
        Time between the two.

    Returns
    -------
    None where the points do not expand, or not for sure.

    """
    if len(x1) < LEAST_POINTS or seconds <= 0:
        return None
    weight = np.ones(len(x1))
    scale = sigma = math.nan
    for _ in range(ROUNDS):
        total = weight.sum()
        a = x1 - (weight @ x1) / total
        b = x2 - (weight @ x2) / total
        spread = float(weight @ (a**2).sum(axis=1))
        if spread < total * LEAST_SPREAD_PX**2:
            return None
        # A similarity: scale and rotation about the centre, as one complex factor.
        scale = float(weight @ (a * b).sum(axis=1)) / spread
        turn = float(weight @ (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])) / spread
        rest = b - scale * a - turn * np.column_stack((-a[:, 1], a[:, 0]))
        error2 = (rest**2).sum(axis=1)
        usual = max(float(np.median(error2)) / 1.386, 1e-4)
        sigma = math.sqrt(usual / spread)
        weight = 1.0 / (1.0 + error2 / (4.0 * usual))
    size = math.hypot(scale, turn)
    if size - 1.0 < SURE * sigma:
        return None
    return Contact(seconds / (size - 1.0), seconds * sigma / (size - 1.0)**2)


def rotation_of(vector: FloatArray) -> FloatArray:
    """Return the rotation matrix of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross
                      + (1.0 - math.cos(angle)) * (cross @ cross))


def _rays(x: FloatArray, inverse: FloatArray) -> FloatArray:
    return np.column_stack((x, np.ones(len(x)))) @ inverse.T


def _sampson(rotation: FloatArray, t: FloatArray, rays1: FloatArray, rays2: FloatArray,
             focal: float) -> FloatArray:
    """Return signed Sampson distances in pixels."""
    essential = np.cross(np.eye(3), t) @ rotation
    lines2, lines1 = rays1 @ essential.T, rays2 @ essential
    slope2 = (lines2[:, :2]**2).sum(axis=1) + (lines1[:, :2]**2).sum(axis=1)
    return np.asarray(focal * (rays2 * lines2).sum(axis=1) / np.sqrt(slope2 + 1e-18))


def _epipolar(rotation: FloatArray, t: FloatArray, rays1: FloatArray, rays2: FloatArray,
              focal: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return residuals, their derivatives by rotation (3) and direction (2), and its basis."""
    residual = _sampson(rotation, t, rays1, rays2, focal)
    basis = np.linalg.svd(t[None, :])[2][1:]
    small = 1e-6
    moved = [(rotation_of(small * axis) @ rotation, t) for axis in np.eye(3)]
    moved += [(rotation, t + small * axis) for axis in basis]
    columns = [(_sampson(r, s, rays1, rays2, focal) - residual) / small for r, s in moved]
    return residual, np.column_stack(columns), basis


def _turn_only(rotation: FloatArray, rays1: FloatArray, rays2: FloatArray, focal: float
               ) -> MotionPose:
    """Return the pose of a motion without parallax."""
    def residual_of(r: FloatArray) -> FloatArray:
        turned = rays1 @ r.T
        return np.asarray(focal * (rays2[:, :2] - turned[:, :2] / turned[:, 2:]).ravel())

    small = 1e-6
    for _ in range(ROUNDS):
        residual = residual_of(rotation)
        jacobian = np.column_stack([
            (residual_of(rotation_of(small * axis) @ rotation) - residual) / small
            for axis in np.eye(3)])
        weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
        normal = jacobian.T @ (weight[:, None] * jacobian)
        step = -np.linalg.lstsq(normal, jacobian.T @ (weight * residual), rcond=None)[0]
        rotation = rotation_of(step) @ rotation
    covariance = _covariance(residual_of(rotation), jacobian)
    return MotionPose(rotation, np.zeros(3), math.degrees(math.sqrt(np.trace(covariance))), 180.0)


def _covariance(residual: FloatArray, jacobian: FloatArray) -> FloatArray:
    """Return the covariance of the parameters; the noise is that of the residuals' middle half."""
    sigma2 = max(float(np.median(np.abs(residual))) / 0.6745, 1e-3)**2
    weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
    normal = jacobian.T @ (weight[:, None] * jacobian)
    return np.asarray(sigma2 * np.linalg.pinv(normal))
