# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses with their errors, and time to contact."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.fundamental import fit_fundamental_robust
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.geometry.pose import recover_pose
from gdm_motion_seg.poses import motion_pose, time_to_contact
from gdm_motion_seg.segmentation.result import Motion

K = np.array([[576.0, 0, 319.5], [0, 576.0, 239.5], [0, 0, 1]])
TURN, SHIFT = np.array([0.01, -0.02, 0.005]), np.array([0.1, 0.02, 0.3])


def rotation_of(vector):
    return cv2.Rodrigues(vector)[0]


def view(n=300, noise=0.2, shift=SHIFT, seed=0):
    rng = np.random.default_rng(seed)
    points = np.column_stack((rng.uniform(-2, 2, n), rng.uniform(-1.5, 1.5, n),
                              rng.uniform(3, 9, n)))
    moved = points @ rotation_of(TURN).T + shift
    x1, x2 = (p @ K.T for p in (points, moved))
    x1, x2 = (x[:, :2] / x[:, 2:] + rng.normal(0, noise, (n, 2)) for x in (x1, x2))
    return Correspondences.from_arrays(x1, x2, (640, 480))


def motion(n, rotation=None, translation=None, kind=MotionKind.GENERAL):
    nan = np.full((3, 3), np.nan)
    return Motion(0, np.arange(n), kind, '', nan, nan, 3.0, 0.1, 1.0,
                  rotation=nan if rotation is None else rotation,
                  translation=np.full(3, np.nan) if translation is None else translation)


def angle(a, b):
    return np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))


def turn_between(a, b):
    return np.degrees(np.arccos(np.clip((np.trace(a @ b.T) - 1) / 2, -1, 1)))


def test_the_stated_error_of_a_pose_has_the_size_of_its_error():
    ratios = []
    for seed in range(20):
        pair = view(seed=seed, noise=0.25)
        fundamental = fit_fundamental_robust(pair.x1, pair.x2, 1.0)
        start = recover_pose(fundamental, pair.x1, pair.x2, K, 0.25)
        pose = motion_pose(motion(300, start[:3], start[3]), pair, K)
        errors = turn_between(pose.rotation, rotation_of(TURN)), angle(pose.translation, SHIFT)
        ratios.append((errors[0] / pose.rotation_error_deg,
                       errors[1] / pose.direction_error_deg))
    # The root mean square of error over stated error is 1 if the statement is right.
    assert np.sqrt(np.mean(np.square(ratios), axis=0)) == pytest.approx([1, 1], abs=0.6)


def test_the_pose_is_that_of_the_members_even_if_other_points_bias_the_motion():
    pair = view()
    aside = rotation_of(np.radians([0.3, -0.2, 0.1])) @ rotation_of(TURN)
    pose = motion_pose(motion(300, aside, SHIFT + (0.05, -0.05, 0.0)), pair, K)
    assert turn_between(pose.rotation, rotation_of(TURN)) < 3 * pose.rotation_error_deg < 0.15
    assert angle(pose.translation, SHIFT) < 3 * pose.direction_error_deg


def test_a_turning_camera_has_a_rotation_and_no_direction():
    still = motion(300, kind=MotionKind.NO_PARALLAX)
    pose = motion_pose(still, view(shift=np.zeros(3)), K)
    assert turn_between(pose.rotation, rotation_of(TURN)) < 0.02
    assert not pose.has_translation and pose.direction_error_deg == 180.0
    assert 0 < pose.rotation_error_deg < 0.05


def test_a_zoom_is_not_a_rotation():
    pair = view(shift=np.zeros(3))
    zoomed = Correspondences.from_arrays(pair.x1, 1.1 * pair.x2, (640, 480))
    assert motion_pose(motion(300, kind=MotionKind.NO_PARALLAX), zoomed, K) is None


def test_without_a_rotation_or_with_few_points_there_is_no_pose():
    assert motion_pose(motion(300), view(), K) is None
    assert motion_pose(motion(5, np.eye(3), SHIFT), view(), K) is None


def expanding(z1, z2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    body = rng.uniform(-0.5, 0.5, (40, 2))
    return (576 * (body + (0.3, 0.1)) / z + rng.normal(0, noise, (40, 2)) for z in (z1, z2))


def test_time_to_contact_is_depth_over_speed_within_its_error():
    hits = 0
    for seed in range(20):
        contact = time_to_contact(*expanding(10.0, 9.6, seed=seed), 0.2)
        hits += abs(contact.seconds - 9.6 / 2.0) < 2 * contact.error_s
    assert hits >= 16


def test_a_body_that_recedes_or_keeps_its_distance_has_no_contact():
    assert time_to_contact(*expanding(9.6, 10.0), 0.2) is None
    assert time_to_contact(*expanding(10.0, 10.0), 0.2) is None
    assert time_to_contact(np.zeros((40, 2)), np.ones((40, 2)), 0.2) is None
    assert time_to_contact(np.zeros((3, 2)), np.ones((3, 2)), 0.2) is None
