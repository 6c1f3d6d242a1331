# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.carry import carry_over, distances_to
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.leftover import with_leftovers
from gdm_motion_seg.segmentation.motion import estimate_motion
from gdm_motion_seg.segmentation.result import MotionSegmentation, OUTLIER

SIZE = (640, 480)
CONFIG = SegmentationConfig()


def scene(seed=0):
    """Return a world of 150 points and a body of 40 that moves through it, with the truth."""
    rng = np.random.default_rng(seed)
    world = rng.uniform((-3, -2, 4), (3, 2, 9), (150, 3))
    body = rng.uniform((0.6, 0.3, 3.5), (1.6, 1.3, 4.5), (40, 3))
    turned = body @ np.array([[0.995, -0.0998, 0], [0.0998, 0.995, 0], [0, 0, 1.0]])
    x1 = np.concatenate([world, body])
    x2 = np.concatenate([world - (0.2, 0.0, 0.1), turned + (0.1, 0.2, -0.3)])
    pixels = [p[:, :2] / p[:, 2:] * 600 + (320, 240) + rng.normal(0, 0.1, (190, 2))
              for p in (x1, x2)]
    return Correspondences.from_arrays(*pixels, SIZE), np.repeat([0, 1], [150, 40])


def test_a_partition_that_holds_is_carried_with_its_geometry():
    points, truth = scene()
    answer = carry_over(points, truth, CONFIG)
    assert answer is not None and answer.n_motions == 2
    assert np.mean(answer.labels == truth) > 0.98
    assert np.median(answer.residuals) < 0.2 and 5 < answer.global_dimension < 12
    assert ((answer.margins >= 0) & (answer.margins <= 1)).all()


def test_new_tracks_join_the_motion_that_they_and_their_neighbours_fit():
    points, truth = scene()
    last = truth.copy()
    last[::7] = -2
    answer = carry_over(points, last, CONFIG)
    assert answer is not None
    assert np.mean(answer.labels[::7] == truth[::7]) > 0.9


def test_a_wrong_track_becomes_an_outlier():
    points, truth = scene()
    points.x2[5] += (40.0, -60.0)
    answer = carry_over(points, truth, CONFIG)
    assert answer is not None and answer.labels[5] != 0


@pytest.mark.parametrize('last', [np.full(190, OUTLIER), np.repeat([0, 1], [185, 5])],
                         ids=['no motion', 'too few points'])
def test_a_partition_without_enough_points_is_not_carried(last):
    assert carry_over(scene()[0], last, CONFIG) is None


def test_a_partition_whose_motions_fell_apart_is_not_carried():
    points, truth = scene()
    points.x2[:150:2] += np.random.default_rng(1).uniform(-50, 50, (75, 2))
    assert carry_over(points, truth, CONFIG) is None


def swallowed(points):
    """Return the answer that calls everything one motion, with the geometry of the world."""
    world = estimate_motion(points, np.arange(150), 0)
    return MotionSegmentation(np.zeros(190, np.int64), (world,), distances_to(world, points),
                              np.ones(190))


def test_a_body_that_an_answer_swallowed_is_found_by_its_residuals():
    points, truth = scene()
    answer = with_leftovers(points, swallowed(points), CONFIG)
    assert answer.n_motions == 2
    assert np.mean(answer.labels[truth == 1] == 1) > 0.5
    assert np.mean(answer.labels[truth == 0] == 0) > 0.97
    assert all((answer.labels[m.members] == k).all() for k, m in enumerate(answer.motions))


def test_a_number_of_motions_that_was_given_is_kept():
    points, _ = scene()
    answer = swallowed(points)
    assert with_leftovers(points, answer, SegmentationConfig(n_motions=1)) is answer


def test_scattered_wrong_tracks_are_no_motion():
    points, truth = scene()
    rng = np.random.default_rng(1)
    world = points.take(np.flatnonzero(truth == 0))
    wrong = rng.choice(150, 30, replace=False)
    world.x2[wrong] += rng.uniform(-80, 80, (30, 2))
    motion = estimate_motion(world, np.setdiff1d(np.arange(150), wrong), 0)
    answer = MotionSegmentation(np.zeros(150, np.int64), (motion,), distances_to(motion, world),
                                np.ones(150))
    assert with_leftovers(world, answer, CONFIG).n_motions == 1
