# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of scenes with known geometry."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg.geometry.pose import aligning_rotation, rays_of, recover_pose
from gdm_motion_seg_tools.bench.fundamentals import fit_fundamental, refine_fundamental


def angle(a, b):
    """Angle between two directions in degrees."""
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def turn(r):
    """Angle of a rotation in degrees."""
    return np.degrees(np.linalg.norm(cv2.Rodrigues(r)[0]))


def refined(v):
    return refine_fundamental(fit_fundamental(v.x1, v.x2), v.x1, v.x2)


@pytest.mark.parametrize('seed', range(8))
def test_the_pose_of_clean_points_is_the_true_one(views, seed):
    v = views(seed, noise=0.0)
    pose = recover_pose(fit_fundamental(v.x1, v.x2), v.x1, v.x2, v.camera_matrix, 0.5)
    assert turn(pose[:3] @ v.rotation.T) < 1e-3
    assert angle(pose[3], v.translation) < 1e-2
    assert np.linalg.det(pose[:3]) == pytest.approx(1.0)
    assert np.linalg.norm(pose[3]) == pytest.approx(1.0)


def test_the_pose_is_more_accurate_than_that_of_opencv(views):
    ours, opencv = [], []
    for seed in range(30):
        v = views(seed, noise=0.5, baseline=0.8)
        f, k = refined(v), v.camera_matrix
        ours.append(angle(recover_pose(f, v.x1, v.x2, k, 0.5)[3], v.translation))
        opencv.append(angle(cv2.recoverPose(k.T @ f @ k, v.x1, v.x2, k)[2][:, 0], v.translation))
    assert np.median(ours) < np.median(opencv)
    assert np.median(ours) < 1.5


@pytest.mark.parametrize('direction', [(1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0)])
def test_the_sign_of_the_translation_is_right_with_noise_and_a_guessed_camera(views, direction):
    v = views(1, noise=0.5, direction=direction, baseline=0.5)
    pose = recover_pose(refined(v), v.x1, v.x2, Camera.guess(v.image_size).matrix, 0.5)
    assert angle(pose[3], v.translation) < 25.0


def test_points_at_infinity_do_not_affect_the_sign_of_the_translation(views):
    v = views(2, n=40, noise=0.0)
    far = views(2, n=400, noise=0.3, scene='rotation')
    # Both scenes have the same seed, so the same rotation.
    h = v.camera_matrix @ v.rotation @ np.linalg.inv(v.camera_matrix)
    mapped = np.column_stack((far.clean1, np.ones(400))) @ h.T
    rng = np.random.default_rng(0)
    x1 = np.concatenate((v.x1, far.clean1))
    x2 = np.concatenate((v.x2, mapped[:, :2] / mapped[:, 2:] + rng.normal(0, 0.05, (400, 2))))
    pose = recover_pose(v.fundamental, x1, x2, v.camera_matrix, 0.5)
    assert angle(pose[3], v.translation) < 1.0


def test_the_fundamental_matrix_of_a_pose_holds_for_its_points(views):
    v = views(6, noise=0.0)
    assert sampson_distances(v.fundamental, v.x1, v.x2).max() < 1e-6
    assert np.linalg.norm(v.fundamental) == pytest.approx(1.0)


def test_a_rotation_is_aligned_also_for_many_cameras_at_once(views):
    v = views(3, scene='rotation', noise=0.0)
    ks = np.stack([v.camera_matrix, 2.0 * v.camera_matrix])
    ks[1, 2, 2] = 1.0
    both = aligning_rotation(rays_of(v.x1, ks), rays_of(v.x2, ks), np.ones(len(v.x1)))
    assert turn(both[0] @ v.rotation.T) < 1e-5
    np.testing.assert_allclose(both[1], aligning_rotation(
        rays_of(v.x1, ks[1]), rays_of(v.x2, ks[1]), np.ones(len(v.x1))), atol=1e-12)


def test_degenerate_points_give_a_finite_pose():
    x = np.full((10, 2), 5.0)
    pose = recover_pose(fit_fundamental(x, x), x, x, Camera.guess((640, 480)).matrix, 0.5)
    assert np.isfinite(pose).all()
