# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind of a motion on scenes of every kind."""

from collections import Counter

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.fundamental import fit_fundamental_robust
from gdm_motion_seg.geometry.kind import classify_motion, MotionKind

SEEDS = range(15)


def apply_homography(h, points):
    return cv2.perspectiveTransform(points[None], h)[0]


def decide(v, camera=None):
    f = fit_fundamental_robust(v.x1, v.x2, max(v.image_size) / 640)
    return classify_motion(v.x1, v.x2, f, camera or Camera.guess(v.image_size))


def kinds(views, **scene):
    return Counter(decide(views(seed, **scene)).kind for seed in SEEDS)


@pytest.mark.parametrize('noise', [0.3, 0.5, 1.0])
@pytest.mark.parametrize('n', [30, 120, 500])
@pytest.mark.parametrize('scene, kind', [
    ('general', MotionKind.GENERAL), ('plane', MotionKind.PLANAR),
    ('rotation', MotionKind.NO_PARALLAX), ('static', MotionKind.NO_PARALLAX)])
def test_each_kind_is_recognised_with_every_seed(views, scene, kind, n, noise):
    assert kinds(views, scene=scene, n=n, noise=noise) == {kind: len(SEEDS)}


@pytest.mark.parametrize('noise', [0.3, 1.0])
@pytest.mark.parametrize('scene', ['plane', 'rotation', 'static'])
@pytest.mark.parametrize('n', [8, 10, 15])
def test_few_points_are_not_classified_as_general_by_chance(views, scene, n, noise):
    assert kinds(views, scene=scene, n=n, noise=noise)[MotionKind.GENERAL] == 0


@pytest.mark.parametrize('n', [8, 10, 15])
def test_few_points_with_strong_parallax_are_classified_as_general(views, n):
    assert kinds(views, n=n, noise=0.3, baseline=1.0)[MotionKind.GENERAL] >= 12


def test_the_kind_of_a_general_scene_is_the_same_for_any_noise(views):
    clean = views(0, n=150, noise=0.0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        x1 = clean.x1 + rng.normal(0, 0.5, clean.x1.shape)
        x2 = clean.x2 + rng.normal(0, 0.5, clean.x2.shape)
        f = fit_fundamental_robust(x1, x2, 1.0)
        kind = classify_motion(x1, x2, f, Camera.guess(clean.image_size)).kind
        assert kind is MotionKind.GENERAL


@pytest.mark.parametrize('baseline', [0.001, 0.01, 0.03])
def test_parallax_below_the_noise_is_ignored(views, baseline):
    found = kinds(views, n=200, noise=0.5, baseline=baseline)
    assert found[MotionKind.GENERAL] == 0 or baseline > 0.01
    assert sum(found.values()) == len(SEEDS)


def test_a_plane_with_a_few_points_off_it_is_general(views):
    for seed in SEEDS:
        plane = views(seed, n=160, scene='plane', baseline=1.0)
        rest = views(seed, n=160, baseline=1.0)
        x1 = np.concatenate((plane.clean1, rest.clean1[:40]))
        # Both have the same camera: the other points move with the pose of the plane.
        points = np.concatenate((plane.points, rest.points[:40]))
        seen = (points @ plane.rotation.T + plane.translation) @ plane.camera_matrix.T
        rng = np.random.default_rng(seed)
        x2 = seen[:, :2] / seen[:, 2:] + rng.normal(0, 0.5, x1.shape)
        x1 = x1 + rng.normal(0, 0.5, x1.shape)
        f = fit_fundamental_robust(x1, x2, 1.0)
        assert classify_motion(x1, x2, f, Camera.guess((640, 480))).kind is MotionKind.GENERAL


def test_wrong_points_do_not_change_the_kind(views):
    for scene, kind in (('general', MotionKind.GENERAL), ('plane', MotionKind.PLANAR),
                        ('rotation', MotionKind.NO_PARALLAX)):
        for seed in SEEDS:
            v = views(seed, n=150, scene=scene)
            v.x2[:5] += np.random.default_rng(seed).uniform(-60, 60, (5, 2))
            assert decide(v).kind is kind


def test_the_homography_of_a_plane_maps_its_points(views):
    v = views(1, scene='plane', n=100)
    decision = decide(v)
    error = apply_homography(decision.homography, v.clean1) - v.clean2
    assert np.abs(error).max() < 1.0
    assert np.isnan(decision.rotation).all()
    assert 'plane' in decision.reason


@pytest.mark.parametrize('focal', [350.0, 500.0, 700.0, 900.0])
def test_a_rotation_is_recognised_for_any_focal_length(views, focal):
    found = kinds(views, scene='rotation', n=200, focal=focal, angle=0.08)
    assert found == {MotionKind.NO_PARALLAX: len(SEEDS)}


def test_the_rotation_of_a_calibrated_camera_is_right(views):
    v = views(3, scene='rotation', n=200)
    camera = Camera.from_info(v.camera_matrix, [], '', v.image_size)
    decision = decide(v, camera)
    assert decision.kind is MotionKind.NO_PARALLAX
    np.testing.assert_allclose(decision.rotation, v.rotation, atol=1e-3)
    assert 'rotation of the camera by' in decision.reason


def test_points_that_do_not_move_are_classified_as_static(views):
    decision = decide(views(0, scene='static'))
    assert 'do not move' in decision.reason
    np.testing.assert_array_equal(decision.homography, np.eye(3))


def test_the_kind_does_not_depend_on_the_resolution(views):
    for scene in ('general', 'plane', 'rotation'):
        small = kinds(views, scene=scene)
        large = kinds(views, scene=scene, noise=1.5, focal=2100.0, image_size=(1920, 1440))
        assert small == large


def test_a_general_motion_has_no_homography(views):
    decision = decide(views(0))
    assert np.isnan(decision.homography).all()
    assert 'depth' in decision.reason


@pytest.mark.parametrize('n', [0, 1, 3, 4, 7])
def test_fewer_than_eight_points_are_too_few_and_the_reason_counts_them(views, n):
    v = views(0, n=max(n, 1), scene='plane')
    decision = classify_motion(v.x1[:n], v.x2[:n], np.eye(3), Camera.guess(v.image_size))
    assert decision.kind is MotionKind.TOO_FEW
    assert decision.reason == f'{n} points: a fundamental matrix needs 8'
    assert np.isfinite(decision.homography).all() == (n >= 4)


def test_copies_of_a_point_count_once(views):
    v = views(0, n=5)
    x1, x2 = np.repeat(v.x1, 10, axis=0), np.repeat(v.x2, 10, axis=0)
    f = fit_fundamental_robust(x1, x2, 1.0)
    decision = classify_motion(x1, x2, f, Camera.guess(v.image_size))
    assert decision.kind is MotionKind.TOO_FEW
    assert '5 different points among 50' in decision.reason


def test_points_on_a_line_are_reported_as_such():
    rng = np.random.default_rng(0)
    s = np.sort(rng.uniform(0, 400, 60))
    x1 = np.column_stack((s, 0.5 * s + 50))
    x2 = np.column_stack((1.3 * s + 20, -0.8 * s + 400))
    f = fit_fundamental_robust(x1, x2, 1.0)
    decision = classify_motion(x1, x2, f, Camera.guess((640, 480)))
    assert decision.kind in (MotionKind.PLANAR, MotionKind.NO_PARALLAX)
    assert np.isfinite(decision.homography).all()
    assert np.abs(apply_homography(decision.homography, x1) - x2).max() < 1.0
