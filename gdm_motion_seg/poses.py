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

import cv2
import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.segmentation.result import Motion

LEAST_POINTS = 8
"""With fewer points no error of a pose can be stated."""
ROUNDS = 5
"""Of robust fits; they start near their end."""
MOST_POINTS = 300
"""Points from which an error is stated; more would only cost time."""
LEAST_NOISE_PX = 0.25
"""Smallest noise that is assumed: tracks err together, so residuals show too little of it."""
FIT_PX = 1.0
"""A pure rotation with a larger median residual does not explain a motion."""
LOSS_PX = 0.5
"""Residual in pixels from which on a point counts less."""
LEAST_SPREAD_PX = 4.0
"""Points that lie closer together show no expansion."""
SMALL = 1e-6
"""Step of numerical derivatives."""
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
    Return the pose of a motion with its error.

    Parameters
    ----------
    motion :
        A motion; None is returned where neither (R, t) nor a pure rotation explains it.
    points :
        The pair's points without lens distortion, to which ``motion.members`` refer.
    camera_matrix :
        (3, 3) K of both views, calibrated.

    """
    members = motion.members
    if len(members) < LEAST_POINTS:
        return None
    some = members[::-(-len(members) // MOST_POINTS)]
    inverse = np.asarray(np.linalg.inv(camera_matrix), np.float64)
    rays1, rays2 = (_rays(x[some], inverse) for x in (points.x1, points.x2))
    focal = 0.5 * (camera_matrix[0, 0] + camera_matrix[1, 1])
    if motion.kind is MotionKind.NO_PARALLAX:
        return _turn_only(rays1, rays2, focal, len(members))
    if not (np.isfinite(motion.rotation).all() and np.isfinite(motion.translation).all()):
        return None
    rotation, t = motion.rotation, motion.translation / np.linalg.norm(motion.translation)
    residual, jacobian = _epipolar(rotation, t, rays1, rays2, focal)
    covariance = _covariance(residual, jacobian) * len(some) / len(members)
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


def quaternion(rotation: FloatArray) -> FloatArray:
    """Return x, y, z, w of a rotation matrix, w not negative."""
    vector = np.asarray(cv2.Rodrigues(rotation)[0], np.float64).ravel()
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 1e-12 else np.zeros(3)
    return np.append(math.sin(0.5 * angle) * axis, math.cos(0.5 * angle))


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
              focal: float) -> tuple[FloatArray, FloatArray]:
    """Return residuals and their derivatives by rotation (3) and direction (2)."""
    residual = _sampson(rotation, t, rays1, rays2, focal)
    across = np.linalg.svd(t[None, :])[2][1:]
    moved = [(rotation_of(SMALL * axis) @ rotation, t) for axis in np.eye(3)]
    moved += [(rotation, t + SMALL * axis) for axis in across]
    columns = [(_sampson(r, s, rays1, rays2, focal) - residual) / SMALL for r, s in moved]
    return residual, np.column_stack(columns)


def _turn_only(rays1: FloatArray, rays2: FloatArray, focal: float, count: int
               ) -> MotionPose | None:
    """Return the pose of a camera that only turned; None if that does not explain the points."""
    rotation = np.eye(3)
    for _ in range(ROUNDS):
        residual = _turn_residual(rotation, rays1, rays2, focal)
        jacobian = np.column_stack([
            (_turn_residual(rotation_of(SMALL * axis) @ rotation, rays1, rays2, focal)
             - residual) / SMALL for axis in np.eye(3)])
        weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
        normal = jacobian.T @ (weight[:, None] * jacobian)
        step = -np.linalg.lstsq(normal, jacobian.T @ (weight * residual), rcond=None)[0]
        rotation = rotation_of(step) @ rotation
    residual = _turn_residual(rotation, rays1, rays2, focal)
    if np.median(np.abs(residual)) > FIT_PX:
        return None
    covariance = _covariance(residual, jacobian) * len(rays1) / count
    return MotionPose(rotation, np.zeros(3), math.degrees(math.sqrt(np.trace(covariance))), 180.0)


def _turn_residual(rotation: FloatArray, rays1: FloatArray, rays2: FloatArray, focal: float
                   ) -> FloatArray:
    turned = rays1 @ rotation.T
    return np.asarray(focal * (rays2[:, :2] - turned[:, :2] / turned[:, 2:]).ravel())


def _covariance(residual: FloatArray, jacobian: FloatArray) -> FloatArray:
    """Return the covariance of the parameters; the noise is that of the residuals' middle half."""
    sigma = max(float(np.median(np.abs(residual))) / 0.6745, LEAST_NOISE_PX)
    weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
    normal = jacobian.T @ (weight[:, None] * jacobian)
    return np.asarray(sigma**2 * np.linalg.pinv(normal))
