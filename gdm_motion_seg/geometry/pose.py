# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The calibrated form of a motion: x2 ~ K (R X + t) for points X in the first camera's frame.

A motion is (4, 3): R with the unit vector along t below it. Rays are points at depth 1.
"""

import cv2
import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.rigid import essential, refine_rigid, rigid_cost

STEPS = 15
"""Largest number of steps of the refinement."""


def rays_of(x: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """Return the directions (..., N, 3), at depth 1, of pixels (N, 2) seen by (..., 3, 3) K."""
    inverse = np.linalg.inv(camera_matrix)
    return np.asarray(x @ inverse[..., :2].swapaxes(-1, -2) + inverse[..., None, :, 2])


def paired_rays(x1: FloatArray, x2: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """Return the rays of both views as (4, N), the form of the compiled fits."""
    inverse = np.linalg.inv(camera_matrix)[:2]
    return np.vstack([inverse[:, :2] @ x.T + inverse[:, 2:] for x in (x1, x2)])


def fundamental_of(motion: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """Return the fundamental matrix K^-T [t]x R K^-1 of a motion, at unit norm."""
    inverse, e = np.linalg.inv(camera_matrix), np.empty((3, 3))
    essential(motion, e)
    f = inverse.T @ e @ inverse
    return np.asarray(f / max(float(np.linalg.norm(f)), 1e-300))


def recover_pose(fundamental: FloatArray, x1: FloatArray, x2: FloatArray,
                 camera_matrix: FloatArray, noise_px: float) -> FloatArray:
    """
    Return the motion (4, 3) of a fundamental matrix, refined on (N, 2) pixels.

    Of the two rotations of E the smaller one counts, and the sign of t under which the parallax
    of more points is positive. In OpenCV's recoverPose a point at infinity, whose sign is noise,
    has a full vote.
    """
    rays = paired_rays(x1, x2, camera_matrix)
    n = rays.shape[1]
    focal = 0.5 * (camera_matrix[0, 0] + camera_matrix[1, 1])
    precision, cost, mirrored = np.full(n, (focal / noise_px) ** 2), np.empty(n), np.empty(n)
    first, second, t = cv2.decomposeEssentialMat(camera_matrix.T @ fundamental @ camera_matrix)
    motion = np.vstack([max(first, second, key=np.trace), t.T])
    rigid_cost(motion, rays, precision, cost, mirrored)
    if mirrored.sum() < cost.sum():
        motion[3] *= -1.0
    refine_rigid(motion, rays, np.arange(n), precision, np.ones(n), 0.0, STEPS)
    return motion


def aligning_rotation(rays1: FloatArray, rays2: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the rotation that best turns the first rays (..., N, 3) into the second (Wahba)."""
    a, b = (rays / np.linalg.norm(rays, axis=-1, keepdims=True) for rays in (rays1, rays2))
    u, _, vt = np.linalg.svd((b * weights[:, None]).swapaxes(-1, -2) @ a)
    u[..., 2] *= np.linalg.det(u @ vt)[..., None]
    return np.asarray(u @ vt)
