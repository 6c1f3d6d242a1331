# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest
from windows import patch_points, window_of, world_points

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.segmentation.bodies import partition
from gdm_motion_seg.segmentation.graph import image_graph
from gdm_motion_seg.segmentation.result import NEW, OUTLIER, WORLD

FORWARD, UP, DOWN = (0.0, 0.0, -1.0), (0.0, -1.5, -1.0), (0.0, 1.5, -1.0)


def parts_of(window, doubt, previous=None):
    graph = image_graph(window.x, window.x - window.before[0], window.image_size[0])
    before = np.full(len(window), NEW) if previous is None else previous
    return partition(window, doubt, before, before > WORLD, graph,
                     Camera.guess(window.image_size))


def n_bodies(parts):
    """Count the bodies."""
    return len(np.unique(parts.labels[parts.labels > WORLD]))


def scene(rng, *patches, n_world=400):
    bodies = [(world_points(n_world, rng), FORWARD), *patches]
    window, label = window_of(bodies, rng)
    return window, label, np.where(label > 0, 8.0, 0.3)


def test_tracks_that_do_not_contradict_the_world_belong_to_it():
    rng = np.random.default_rng(0)
    window, _, doubt = scene(rng)
    parts = parts_of(window, doubt)
    assert n_bodies(parts) == 0 and (parts.labels == WORLD).all()


def test_a_group_that_contradicts_the_world_is_a_body():
    rng = np.random.default_rng(0)
    window, label, doubt = scene(rng, (patch_points(20, rng), UP))
    parts = parts_of(window, doubt)
    assert n_bodies(parts) == 1
    assert (parts.labels[label == 1] == 1).mean() > 0.9 and (parts.labels[label == 0] != 1).all()


@pytest.mark.parametrize('n_world', [200, 1500])
def test_the_price_of_a_body_does_not_grow_with_the_world(n_world):
    rng = np.random.default_rng(0)
    window, label, doubt = scene(rng, (patch_points(12, rng, side=50), UP), n_world=n_world)
    assert n_bodies(parts_of(window, doubt)) == 1


def test_a_single_track_that_contradicts_the_world_is_a_wrong_match():
    rng = np.random.default_rng(0)
    window, _, doubt = scene(rng)
    doubt[7] = 8.0
    window.before[0, 7] += 40.0
    parts = parts_of(window, doubt)
    assert parts.labels[7] == OUTLIER and n_bodies(parts) == 0


def test_a_part_of_a_body_that_also_fits_the_world_stays_in_the_body():
    rng = np.random.default_rng(0)
    window, label, doubt = scene(rng, (patch_points(120, rng, side=200), UP))
    side = (label == 1) & (window.x[:, 0] > 330)
    doubt[side] = 0.5
    new = parts_of(window, doubt)
    known = parts_of(window, doubt, np.where(label == 1, 1, WORLD))
    assert (known.labels[side] == 1).mean() > 0.9
    assert (new.labels[side] == 1).mean() < 0.9


def test_bodies_that_move_differently_are_separated():
    rng = np.random.default_rng(0)
    window, label, doubt = scene(rng, (patch_points(25, rng, (200, 240)), UP),
                                 (patch_points(25, rng, (450, 240)), DOWN))
    parts = parts_of(window, doubt)
    assert n_bodies(parts) == 2
    assert len(np.unique(parts.labels[label == 1])) == 1


def test_bodies_that_move_alike_but_are_far_apart_are_separated():
    rng = np.random.default_rng(0)
    window, _, doubt = scene(rng, (patch_points(25, rng, (120, 240)), UP),
                             (patch_points(25, rng, (520, 240)), UP))
    assert n_bodies(parts_of(window, doubt)) == 2


def test_halves_of_one_body_that_were_two_before_are_merged():
    rng = np.random.default_rng(0)
    window, label, doubt = scene(rng, (patch_points(40, rng, side=120), UP))
    previous = np.where(label == 1, np.where(window.x[:, 0] < 320, 3, 5), WORLD)
    assert n_bodies(parts_of(window, doubt, previous)) == 1


def test_bodies_that_touch_are_not_merged_if_the_dimension_would_grow():
    rng = np.random.default_rng(0)
    left = patch_points(40, rng, (280, 240), side=80, relief=1.0), (0.3, -1.5, -1.0)
    right = patch_points(40, rng, (362, 240), side=80, relief=1.0), (-0.3, -1.2, 0.5)
    window, label, doubt = scene(rng, left, right)
    previous = np.where(label == 1, 3, np.where(label == 2, 5, WORLD))
    parts = parts_of(window, doubt, previous)
    assert n_bodies(parts) == 2


def test_a_known_body_costs_less_than_a_new_one():
    rng = np.random.default_rng(0)
    window, label, _ = scene(rng, (patch_points(9, rng, side=40), UP))
    doubt = np.where(label == 1, 4.0, 0.2)
    known = np.where(label == 1, 4, WORLD)
    assert n_bodies(parts_of(window, doubt)) == 0
    assert n_bodies(parts_of(window, doubt, known)) == 1


def test_the_advantage_is_positive_within_bodies_and_negative_in_the_world():
    rng = np.random.default_rng(0)
    window, label, doubt = scene(rng, (patch_points(20, rng), UP))
    parts = parts_of(window, doubt)
    assert (parts.advantage[parts.labels == 1] > 0).all()
    assert (parts.advantage[parts.labels == WORLD] < 0).all()
