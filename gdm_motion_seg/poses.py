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

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._linalg import median
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.geometry.rigid import refine_rigid, rigid_information
from gdm_motion_seg.segmentation.result import Motion

LEAST_POINTS = 8
"""With fewer points no error of a pose can be stated."""
ROUNDS = 5
"""Of robust fits; they start near their end."""
MOST_POINTS = 300
"""Points to which a pure rotation is fitted; more would only cost time."""
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
    inverse = np.asarray(np.linalg.inv(camera_matrix), np.float64)
    rays1, rays2 = (_rays(x[members], inverse) for x in (points.x1, points.x2))
    some = slice(None, None, -(-len(members) // MOST_POINTS))
    focal = 0.5 * (camera_matrix[0, 0] + camera_matrix[1, 1])
    if motion.kind is MotionKind.NO_PARALLAX:
        return _turn_only(rays1[some], rays2[some], focal, len(members))
    if not (np.isfinite(motion.rotation).all() and np.isfinite(motion.translation).all()):
        return None
    rays = np.ascontiguousarray(np.hstack([rays1[:, :2], rays2[:, :2]]).T)
    pose = _refined(motion, rays, focal)
    covariance = _pose_covariance(pose, rays, focal)
    return MotionPose(pose[:3], pose[3], math.degrees(math.sqrt(np.trace(covariance[:3, :3]))),
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
    scale, turn, sigma = expansion(np.ascontiguousarray(x1, np.float64),
                                   np.ascontiguousarray(x2, np.float64))
    size = math.hypot(scale, turn)
    if not size - 1.0 >= SURE * sigma:
        return None
    return Contact(seconds / (size - 1.0), seconds * sigma / (size - 1.0)**2)


@kernel
def expansion(x1: FloatArray, x2: FloatArray) -> tuple[float, float, float]:
    """
    Fit a similarity to points in two frames, robustly.

    Returns
    -------
    Scale times the cosine and the sine of its rotation, and the standard error of the scale; NaN
    where the points lie too close together.

    """
    n = len(x1)
    weight, error2 = np.ones(n), np.empty(n)
    scale = turn = sigma = math.nan
    for _ in range(ROUNDS):
        total = ax = ay = bx = by = 0.0
        for i in range(n):
            w = weight[i]
            total += w
            ax, ay = ax + w * x1[i, 0], ay + w * x1[i, 1]
            bx, by = bx + w * x2[i, 0], by + w * x2[i, 1]
        ax, ay, bx, by = ax / total, ay / total, bx / total, by / total
        spread = along = across = 0.0
        for i in range(n):
            w, px, py = weight[i], x1[i, 0] - ax, x1[i, 1] - ay
            qx, qy = x2[i, 0] - bx, x2[i, 1] - by
            spread += w * (px * px + py * py)
            along += w * (px * qx + py * qy)
            across += w * (px * qy - py * qx)
        if spread < total * LEAST_SPREAD_PX**2:
            return math.nan, math.nan, math.nan
        # Scale and rotation about the centre, as one complex factor.
        scale, turn = along / spread, across / spread
        for i in range(n):
            px, py = x1[i, 0] - ax, x1[i, 1] - ay
            rx = x2[i, 0] - bx - scale * px + turn * py
            ry = x2[i, 1] - by - scale * py - turn * px
            error2[i] = rx * rx + ry * ry
        usual = max(median(error2) / 1.386, 1e-4)
        sigma = math.sqrt(usual / spread)
        for i in range(n):
            weight[i] = 1.0 / (1.0 + error2[i] / (4.0 * usual))
    return scale, turn, sigma


def rotation_of(vector: FloatArray) -> FloatArray:
    """Return the rotation matrix of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross
                      + (1.0 - math.cos(angle)) * (cross @ cross))


SMALL_TURNS = np.stack([rotation_of(SMALL * axis) for axis in np.eye(3)])
"""Rotations about the axes by the step of numerical derivatives."""


def quaternion(rotation: FloatArray) -> FloatArray:
    """Return x, y, z, w of a rotation matrix, w not negative."""
    vector = np.asarray(cv2.Rodrigues(rotation)[0], np.float64).ravel()
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 1e-12 else np.zeros(3)
    return np.append(math.sin(0.5 * angle) * axis, math.cos(0.5 * angle))


def _rays(x: FloatArray, inverse: FloatArray) -> FloatArray:
    return np.column_stack((x, np.ones(len(x)))) @ inverse.T


def _refined(motion: Motion, rays: FloatArray, focal: float) -> FloatArray:
    """
    Return the pose (4, 3), R with t below it, that fits a motion's members best.

    That of the motion was fitted to other points as well: bodies have a small weight in the
    estimate of the world.
    """
    pose = np.vstack([motion.rotation, motion.translation / np.linalg.norm(motion.translation)])
    ones = np.ones(rays.shape[1])
    refine_rigid(pose, rays, np.arange(len(ones)), ones * (focal / LEAST_NOISE_PX)**2, ones, 0.0,
                 ROUNDS)
    return pose


def _pose_covariance(pose: FloatArray, rays: FloatArray, focal: float) -> FloatArray:
    """Return the covariance (5, 5) of the rotation and of the direction of a pose, in radians."""
    matrix = np.cross(np.eye(3), pose[3]) @ pose[:3]
    distances = focal * sampson_distances(matrix, rays[:2].T, rays[2:].T)
    noise = max(float(np.median(distances)) / 0.6745, LEAST_NOISE_PX) / focal
    return np.asarray(noise**2 * np.linalg.pinv(
        rigid_information(pose, rays, (focal / LOSS_PX)**2)))


def _turn_only(rays1: FloatArray, rays2: FloatArray, focal: float, count: int
               ) -> MotionPose | None:
    """Return the pose of a camera that only turned; None if that does not explain the points."""
    rotation = np.eye(3)
    for _ in range(ROUNDS):
        residual = _turn_residual(rotation, rays1, rays2, focal)
        jacobian = np.column_stack([
            (_turn_residual(turn @ rotation, rays1, rays2, focal) - residual) / SMALL
            for turn in SMALL_TURNS])
        weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
        normal = jacobian.T @ (weight[:, None] * jacobian)
        step = -np.linalg.lstsq(normal, jacobian.T @ (weight * residual), rcond=None)[0]
        rotation = rotation_of(step) @ rotation
    residual = _turn_residual(rotation, rays1, rays2, focal)
    if np.median(np.abs(residual)) > FIT_PX:
        return None
    covariance = _covariance(residual, jacobian) * len(rays1) / count
    # A translation that the rotation has absorbed is of the size of what it leaves over.
    absorbed = (float(np.median(np.abs(residual))) / focal)**2
    return MotionPose(rotation, np.zeros(3),
                      math.degrees(math.sqrt(np.trace(covariance) + absorbed)), 180.0)


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
