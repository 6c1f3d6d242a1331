# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses, triangulation and parallax against known geometry."""

import cv2
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from gdm_motion_seg.geometry import (
    Camera, decompose_essential, epipolar_parallax, essential_from_fundamental, fit_fundamental,
    fundamental_from_pose, parallax_angles, rays_from_pixels, recover_pose, refine_fundamental,
    refine_pose, sampson_distances, triangulate)


def angle(a, b):
    """Angle between two directions in degrees."""
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def turn(r):
    """Angle of a rotation in degrees."""
    return np.degrees(np.linalg.norm(cv2.Rodrigues(r)[0]))


@pytest.mark.parametrize('seed', range(8))
def test_the_pose_of_clean_points_is_the_true_one(views, seed):
    v = views(seed, noise=0.0)
    pose = recover_pose(fit_fundamental(v.x1, v.x2), v.x1, v.x2, v.camera_matrix)
    assert turn(pose.rotation @ v.rotation.T) < 1e-3
    assert angle(pose.translation, v.translation) < 1e-2
    assert pose.share_in_front > 0.999
    assert np.linalg.det(pose.rotation) == pytest.approx(1.0)


def test_the_refined_pose_is_nearer_to_the_truth_than_the_decomposed_one(views):
    plain, refined = [], []
    for seed in range(30):
        v = views(seed, noise=0.5, baseline=0.8)
        f = refine_fundamental(fit_fundamental(v.x1, v.x2), v.x1, v.x2)
        for errors, refine in ((plain, False), (refined, True)):
            pose = recover_pose(f, v.x1, v.x2, v.camera_matrix, refine=refine)
            errors.append(angle(pose.translation, v.translation))
    assert np.median(refined) < np.median(plain)
    assert np.median(refined) < 1.5


@pytest.mark.parametrize('direction', [(1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0)])
def test_the_sign_of_the_translation_survives_noise_and_a_guessed_camera(views, direction):
    v = views(1, noise=0.5, direction=direction, baseline=0.5)
    f = refine_fundamental(fit_fundamental(v.x1, v.x2), v.x1, v.x2)
    pose = recover_pose(f, v.x1, v.x2, Camera.guess(v.image_size).matrix)
    assert angle(pose.translation, v.translation) < 25.0
    assert pose.share_in_front > 0.9


def test_points_at_infinity_do_not_vote(views):
    v = views(2, n=40, noise=0.0)
    far = views(2, n=400, noise=0.3, scene='rotation')
    # The same rotation: the scenes share their seed up to the number of points.
    h = v.camera_matrix @ v.rotation @ np.linalg.inv(v.camera_matrix)
    mapped = np.column_stack((far.clean1, np.ones(400))) @ h.T
    rng = np.random.default_rng(0)
    x1 = np.concatenate((v.x1, far.clean1))
    x2 = np.concatenate((v.x2, mapped[:, :2] / mapped[:, 2:] + rng.normal(0, 0.05, (400, 2))))
    pose = recover_pose(v.fundamental, x1, x2, v.camera_matrix, refine=False)
    assert angle(pose.translation, v.translation) < 1e-3


def test_refinement_of_a_pose_finds_the_truth_from_nearby(views):
    v = views(3, noise=0.0, baseline=1.0)
    start_r = cv2.Rodrigues(np.array([0.02, -0.01, 0.015]))[0] @ v.rotation
    start_t = v.translation + 0.2
    r, t = refine_pose(start_r, start_t, v.x1, v.x2, v.camera_matrix)
    assert turn(r @ v.rotation.T) < 1e-3
    assert angle(t, v.translation) < 1e-2
    assert np.linalg.norm(t) == pytest.approx(1.0)


def test_essential_matrix_has_two_equal_singular_values(views):
    v = views(0)
    e = essential_from_fundamental(fit_fundamental(v.x1, v.x2), v.camera_matrix)
    np.testing.assert_allclose(np.linalg.svd(e, compute_uv=False), (0.5 ** 0.5, 0.5 ** 0.5, 0),
                               atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2 ** 32 - 1))
def test_one_of_the_two_rotations_and_plus_or_minus_t_give_the_essential_matrix_back(seed):
    rng = np.random.default_rng(seed)
    rotation = cv2.Rodrigues(rng.normal(size=3))[0]
    t = rng.normal(size=3)
    t /= np.linalg.norm(t)
    r1, r2, found = decompose_essential(fundamental_from_pose(rotation, t, np.eye(3)))
    assert min(turn(r1 @ rotation.T), turn(r2 @ rotation.T)) < 1e-4
    assert min(angle(found, t), angle(-found, t)) < 1e-4
    for r in (r1, r2):
        np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-9)
        assert np.linalg.det(r) == pytest.approx(1.0)


def test_triangulation_gives_back_the_points(views):
    v = views(4, noise=0.0)
    x = triangulate(v.rotation, v.translation, rays_from_pixels(v.x1, v.camera_matrix),
                    rays_from_pixels(v.x2, v.camera_matrix))
    np.testing.assert_allclose(x[:, :3] / x[:, 3:], v.points, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0)


def test_points_behind_the_camera_triangulate_against_their_rays(views):
    v = views(4, noise=0.0)
    x = triangulate(v.rotation, -v.translation, rays_from_pixels(v.x1, v.camera_matrix),
                    rays_from_pixels(v.x2, v.camera_matrix))
    np.testing.assert_allclose(x[:, :3] / x[:, 3:], -v.points, rtol=1e-6)


def test_parallel_rays_meet_at_infinity():
    rays = np.array([[0.0, 0.0, 1.0], [0.3, -0.2, 1.0]])
    for t in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)):
        x = triangulate(np.eye(3), np.array(t), rays, rays)
        np.testing.assert_allclose(x[:, 3], 0.0)
        np.testing.assert_allclose(x[:, :3], rays / np.linalg.norm(rays, axis=1, keepdims=True))


def test_parallax_is_zero_at_infinity_and_positive_in_front(views):
    v = views(5, noise=0.0)
    k = v.camera_matrix
    parallax = epipolar_parallax(v.rotation, v.translation, v.x1, v.x2, k)
    assert parallax.min() > 0.0
    assert epipolar_parallax(v.rotation, -v.translation, v.x1, v.x2, k).max() < 0.0
    far = views(5, noise=0.0, scene='rotation')
    np.testing.assert_allclose(
        epipolar_parallax(far.rotation, np.array([1.0, 0, 0]), far.x1, far.x2, k), 0, atol=1e-9)
    angles = parallax_angles(v.rotation, rays_from_pixels(v.x1, k), rays_from_pixels(v.x2, k))
    np.testing.assert_allclose(angles * 700.0, parallax, rtol=0.5)


def test_the_fundamental_matrix_of_a_pose_holds_for_its_points(views):
    v = views(6, noise=0.0)
    f = fundamental_from_pose(v.rotation, v.translation, v.camera_matrix)
    assert sampson_distances(f, v.x1, v.x2).max() < 1e-6
    assert np.linalg.norm(f) == pytest.approx(1.0)


def test_degenerate_points_give_a_finite_pose():
    x = np.full((10, 2), 5.0)
    pose = recover_pose(fit_fundamental(x, x), x, x, Camera.guess((640, 480)).matrix)
    assert np.isfinite(pose.rotation).all()
    assert np.isfinite(pose.translation).all()
