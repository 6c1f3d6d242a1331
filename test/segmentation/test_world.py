# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest
from windows import CAMERA, patch_points, window_of, world_points

from gdm_motion_seg.segmentation.constants import CAP, SUSPICIOUS
from gdm_motion_seg.segmentation.world import WorldEstimator

AT_REST, FORWARD, SIDEWAYS = (0.0, 0.0, 0.0), (0.0, 0.0, -2.0), (-1.0, 0.0, 0.0)


def doubt_of(window, estimator=None, is_body=None):
    nobody = np.zeros(len(window), bool) if is_body is None else is_body
    return (estimator or WorldEstimator()).contradiction(window, nobody, CAMERA, 1)


@pytest.mark.parametrize('camera', [AT_REST, FORWARD, SIDEWAYS],
                         ids=['at rest', 'forward', 'sideways'])
def test_static_tracks_do_not_contradict_the_world(camera):
    rng = np.random.default_rng(0)
    window, _ = window_of([(world_points(600, rng), camera)], rng)
    assert np.mean(doubt_of(window) > SUSPICIOUS) < 0.01


@pytest.mark.parametrize('camera', [AT_REST, FORWARD, SIDEWAYS],
                         ids=['at rest', 'forward', 'sideways'])
def test_a_body_that_moves_across_contradicts_the_world(camera):
    rng = np.random.default_rng(0)
    up = np.array(camera) + (0.0, -1.5, 0.0)
    window, label = window_of([(world_points(600, rng), camera), (patch_points(30, rng), up)], rng)
    doubt = doubt_of(window)
    assert np.median(doubt[label == 1]) > SUSPICIOUS > np.median(doubt[label == 0])


def test_a_camera_at_rest_has_a_smooth_world_and_a_moving_one_a_rigid_world():
    rng = np.random.default_rng(0)
    shares = []
    for camera in (AT_REST, SIDEWAYS):
        estimator = WorldEstimator()
        doubt_of(window_of([(world_points(600, rng), camera)], rng)[0], estimator)
        shares.append(estimator.pair.smooth_share)
    assert shares[0] > 0.9 and shares[1] < 0.1


def test_a_body_with_negative_parallax_contradicts_the_world():
    # It overtakes the camera, so its parallax has the wrong sign.
    rng = np.random.default_rng(0)
    window, label = window_of([(world_points(600, rng), SIDEWAYS),
                               (patch_points(30, rng), (1.0, 0.0, 0.0))], rng)
    assert np.median(doubt_of(window)[label == 1]) > SUSPICIOUS


def test_a_track_never_contradicts_by_more_than_the_cap():
    rng = np.random.default_rng(0)
    window, _ = window_of([(world_points(300, rng), FORWARD),
                           (patch_points(30, rng), (9.0, 0.0, 0.0))], rng)
    assert doubt_of(window).max() <= CAP


def test_tracks_of_known_bodies_do_not_vote():
    # The body has more tracks than the world: only the weights decide which one is the world.
    rng = np.random.default_rng(0)
    window, label = window_of([(world_points(150, rng), SIDEWAYS),
                               (patch_points(400, rng, side=300), (0.0, -1.5, 0.0))], rng)
    doubt = doubt_of(window, is_body=label == 1)
    assert np.median(doubt[label == 1]) > SUSPICIOUS > np.median(doubt[label == 0])


@pytest.mark.parametrize('seed', range(3))
def test_a_large_body_does_not_bias_the_pose_of_the_world(seed):
    # A body in front moves nearly like the camera: a pose between both fits most tracks.
    rng = np.random.default_rng(seed)
    window, label = window_of([(world_points(600, rng), (-0.5, 0.05, -1.0)),
                               (patch_points(330, rng, side=340, depth=3.0), (-0.3, 0.1, -0.5))],
                              rng)
    doubt = doubt_of(window)
    assert np.median(doubt[label == 0]) < 0.3
    assert np.median(doubt[label == 1]) > 5.0


@pytest.mark.parametrize(('height', 'is_world'), [(440, True), (200, False)],
                         ids=['along the lower border', 'above it'])
def test_near_things_before_a_flat_background_belong_to_the_world_at_its_lower_border(
        height, is_world):
    rng = np.random.default_rng(0)
    rocks = np.vstack([patch_points(15, rng, (x, height), side=70, depth=2.0, relief=0.5)
                       for x in (60, 200, 440, 580)])
    window, label = window_of([(world_points(300, rng, 11.9, 12.1), SIDEWAYS),
                               (rocks, SIDEWAYS)], rng)
    doubt = doubt_of(window)
    assert (np.median(doubt[label == 1]) < SUSPICIOUS) == is_world
    assert np.median(doubt[label == 0]) < 0.3


def test_too_few_tracks_give_no_contradiction():
    rng = np.random.default_rng(0)
    window, _ = window_of([(world_points(12, rng), FORWARD)], rng)
    assert (doubt_of(window) == 0.0).all()


def test_the_same_window_and_seed_give_the_same_evidence():
    rng = np.random.default_rng(0)
    window, _ = window_of([(world_points(400, rng), FORWARD)], rng)
    np.testing.assert_array_equal(doubt_of(window), doubt_of(window))
