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

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.geometry.numerics import median
from gdm_motion_seg.geometry.pose import aligning_rotation, paired_rays, rays_of
from gdm_motion_seg.geometry.rigid import refine_rigid
from gdm_motion_seg.segmentation.result import Motion

LEAST_POINTS = 8
"""With fewer points the error of a pose cannot be estimated."""
ROUNDS = 5
"""Iterations of robust fits, which start near the solution."""
MOST_POINTS = 300
"""Largest number of points for errors and for the fit of a pure rotation; more only take time."""
LEAST_NOISE_PX = 0.25
"""Smallest noise that is assumed: errors of tracks are correlated, so residuals are too small."""
FIT_PX = 1.0
"""A pure rotation with a larger median residual does not explain a motion."""
LOSS_PX = 0.5
"""Residual in pixels above which a point has less weight."""
LEAST_SPREAD_PX = 4.0
"""Smallest spread of points whose expansion can be measured."""
SURE = 2.0
"""An expansion is significant if it exceeds this number of standard deviations."""


@dataclass(frozen=True)
class MotionPose:
    """Rotation and direction of translation of a motion, with standard errors."""

    rotation: FloatArray
    """(3, 3) R."""
    translation: FloatArray
    """(3,) direction of t, a unit vector; zeros if the points do not determine it."""
    rotation_error_deg: float
    """Standard error of the rotation: root of the sum of the variances of its three angles."""
    direction_error_deg: float
    """Standard error of the direction; 180 if it is not determined."""

    @property
    def has_translation(self) -> bool:
        """Whether the points determine a direction of translation."""
        return bool(self.translation.any())


@dataclass(frozen=True)
class Contact:
    """Time until a body reaches the camera's plane, at constant velocities."""

    seconds: float
    """Seconds after the newer frame."""
    error_s: float
    """Standard error."""


def motion_pose(motion: Motion, points: Correspondences, camera_matrix: FloatArray
                ) -> MotionPose | None:
    """
    Return the pose of a motion; None if neither (R, t) nor a pure rotation explains it.

    ``points`` are those of the pair, to which ``motion.members`` refer, without lens distortion;
    ``camera_matrix`` is the calibrated K of both views.
    """
    members = motion.members
    if len(members) < LEAST_POINTS:
        return None
    x1, x2 = points.x1[members], points.x2[members]
    focal = 0.5 * float(camera_matrix[0, 0] + camera_matrix[1, 1])
    some = slice(None, None, -(-len(members) // MOST_POINTS))
    if motion.kind is MotionKind.NO_PARALLAX:
        return _turn_only(rays_of(x1[some], camera_matrix), rays_of(x2[some], camera_matrix),
                          focal, len(members))
    if not (np.isfinite(motion.rotation).all() and np.isfinite(motion.translation).all()):
        return None
    # It was also fitted to other points: bodies have a small weight in the estimate of the world.
    pose = np.vstack([motion.rotation, motion.translation / np.linalg.norm(motion.translation)])
    rays, ones = paired_rays(x1, x2, camera_matrix), np.ones(len(members))
    refine_rigid(pose, rays, np.arange(len(ones)), ones * (focal / LEAST_NOISE_PX)**2, ones, 0.0,
                 ROUNDS)
    chosen = rays[:, some]
    covariance = _pose_covariance(pose, chosen, focal) * chosen.shape[1] / len(members)
    return MotionPose(pose[:3], pose[3], math.degrees(math.sqrt(np.trace(covariance[:3, :3]))),
                      min(180.0, math.degrees(math.sqrt(np.trace(covariance[3:, 3:])))))


def time_to_contact(x1: FloatArray, x2: FloatArray, seconds: float) -> Contact | None:
    """
    Return the time to contact of a body; None if its points do not expand significantly.

    ``x1`` and ``x2`` (N, 2) are their pixels in the older and the newer frame, ``seconds`` apart.
    """
    if len(x1) < LEAST_POINTS or seconds <= 0:
        return None
    growth, sigma = _expansion(np.ascontiguousarray(x1, np.float64),
                               np.ascontiguousarray(x2, np.float64))
    if not growth >= SURE * sigma:
        return None
    return Contact(seconds / growth, seconds * sigma / growth**2)


@kernel
def _expansion(x1: FloatArray, x2: FloatArray) -> tuple[float, float]:
    """Return by what share points expand, and its standard error; infinite if too close."""
    # A similarity is fitted robustly: scale and rotation about the centre are a complex factor
    # p + iq. Its arithmetic is written out, because complex numbers take long to compile.
    n, p, q, sigma = len(x1), 1.0, 0.0, math.inf
    weight, error2 = np.empty(n), np.empty(n)
    for i in range(n):
        weight[i] = 1.0
    for _ in range(ROUNDS):
        total = u1 = v1 = u2 = v2 = spread = p = q = 0.0
        for i in range(n):
            w = weight[i]
            total += w
            u1, v1 = u1 + w * x1[i, 0], v1 + w * x1[i, 1]
            u2, v2 = u2 + w * x2[i, 0], v2 + w * x2[i, 1]
        u1, v1, u2, v2 = u1 / total, v1 / total, u2 / total, v2 / total
        for i in range(n):
            a, b = x1[i, 0] - u1, x1[i, 1] - v1
            c, d = x2[i, 0] - u2, x2[i, 1] - v2
            wa, wb = weight[i] * a, weight[i] * b
            spread += wa * a + wb * b
            p, q = p + (wa * c + wb * d), q + (wa * d - wb * c)
        if spread < total * LEAST_SPREAD_PX * LEAST_SPREAD_PX:
            return 0.0, math.inf
        p, q = p / spread, q / spread
        for i in range(n):
            a, b = x1[i, 0] - u1, x1[i, 1] - v1
            s, t = x2[i, 0] - u2 - (p * a - q * b), x2[i, 1] - v2 - (p * b + q * a)
            error2[i] = s * s + t * t
        usual = max(median(error2) / 1.386, 1e-4)
        sigma = math.sqrt(usual / spread)
        for i in range(n):
            weight[i] = 1.0 / (1.0 + error2[i] / (4.0 * usual))
    return math.hypot(p, q) - 1.0, sigma


def quaternion(rotation: FloatArray) -> FloatArray:
    """Return x, y, z, w of a rotation matrix, w not negative."""
    vector = np.asarray(cv2.Rodrigues(rotation)[0], np.float64).ravel()
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 1e-12 else np.zeros(3)
    return np.append(math.sin(0.5 * angle) * axis, math.cos(0.5 * angle))


def _pose_covariance(pose: FloatArray, rays: FloatArray, focal: float) -> FloatArray:
    """Return the covariance (5, 5) of the rotation and of the direction of a pose, in radians."""
    ones = np.ones((1, rays.shape[1]))
    a, b = np.concatenate([rays[:2], ones]).T, np.concatenate([rays[2:], ones]).T
    rotation, t = pose[:3], pose[3]
    across = np.linalg.svd(t[None])[2][1:]
    essential = _cross(t) @ rotation
    changes = np.stack([*(_cross(t) @ _cross(axis) @ rotation for axis in np.eye(3)),
                        *(_cross(axis) @ rotation for axis in across)])
    lines2, lines1 = a @ essential.T, b @ essential
    c = (b * lines2).sum(axis=1)
    lines2[:, 2] = lines1[:, 2] = 0.0
    q = (lines2**2).sum(axis=1) + (lines1**2).sum(axis=1) + 1e-18
    # The Sampson distance is c / sqrt(q).
    h = (c / q)[:, None, None]
    slope = (b[:, :, None] * a[:, None, :]
             - h * (lines2[:, :, None] * a[:, None, :] + b[:, :, None] * lines1[:, None, :]))
    jacobian = slope.reshape(-1, 9) @ changes.reshape(5, 9).T / np.sqrt(q)[:, None]
    return _covariance(focal * c / np.sqrt(q), focal * jacobian)


def _cross(v: FloatArray) -> FloatArray:
    x, y, z = v  # numpy's function takes ten times as long
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _turn_only(rays1: FloatArray, rays2: FloatArray, focal: float, count: int
               ) -> MotionPose | None:
    """Return the pose of a pure rotation; None if that does not explain the points."""
    weight, rotation = np.ones(len(rays1)), np.eye(3)
    for _ in range(ROUNDS):
        rotation = aligning_rotation(rays1, rays2, weight)
        turned = rays1 @ rotation.T
        turned /= turned[:, 2:]
        residual = focal * (rays2 - turned)[:, :2]
        weight = 1.0 / (1.0 + (residual**2).sum(axis=1) / LOSS_PX**2)
    middle = float(np.median(np.abs(residual)))
    if middle > FIT_PX:
        return None
    x, y = turned[:, 0], turned[:, 1]
    one = np.ones_like(x)
    jacobian = focal * np.stack([np.column_stack([-x * y, one + x * x, -y]),
                                 np.column_stack([-one - y * y, x * y, x])], axis=1)
    covariance = _covariance(residual.ravel(), jacobian.reshape(-1, 3)) * len(rays1) / count
    # A translation that the rotation has absorbed is about as large as the residuals.
    return MotionPose(rotation, np.zeros(3), math.degrees(math.sqrt(
        np.trace(covariance) + (middle / focal)**2)), 180.0)


def _covariance(residual: FloatArray, jacobian: FloatArray) -> FloatArray:
    """Return the covariance of the parameters; the noise is from the median residual."""
    sigma = max(float(np.median(np.abs(residual))) / 0.6745, LEAST_NOISE_PX)
    weight = 1.0 / (1.0 + (residual / LOSS_PX)**2)
    return np.asarray(sigma**2 * np.linalg.pinv(jacobian.T @ (weight[:, None] * jacobian)))
