# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tests of what the past of the tracks tells the estimate of the world."""

import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation import constants
from gdm_motion_seg.segmentation.graph import image_graph
from gdm_motion_seg.segmentation.motions import estimate_motions
from gdm_motion_seg.segmentation.naming import TRACK
from gdm_motion_seg.segmentation.result import NEW, OUTLIER, WORLD
from gdm_motion_seg.segmentation.stream import evident_bodies, joins_body, moving_probability


def tracks_of(labels, doubt):
    """Return remembered tracks with labels and evidence."""
    tracks = np.zeros(len(labels), TRACK)
    tracks['label'], tracks['doubt'] = labels, doubt
    return tracks


def row_of_points(count):
    """Return the graph of points in a row that all move alike."""
    x = np.column_stack([np.arange(count) * 5.0 + 100.0, np.full(count, 200.0)])
    return image_graph(x, np.ones((count, 2)), 640.0)


def test_a_body_with_strong_evidence_does_not_vote_for_the_world_and_one_with_weak_evidence_does():
    tracks = tracks_of([WORLD] * 50 + [3] * 6 + [4] * 6,
                       [0.0] * 50 + [constants.OUTLIER - 1.0] * 6 + [constants.CAP] * 6)
    assert evident_bodies(tracks).tolist() == [False] * 56 + [True] * 6


def test_a_large_body_does_not_vote_however_weak_its_evidence():
    tracks = tracks_of([WORLD] * 50 + [3] * 30, [0.0] * 50 + [constants.OUTLIER - 3.0] * 30)
    assert evident_bodies(tracks).tolist() == [False] * 50 + [True] * 30


def test_neither_the_world_nor_wrong_matches_nor_new_tracks_are_bodies():
    tracks = tracks_of([WORLD, OUTLIER, NEW], [constants.CAP, constants.CAP, np.nan])
    assert not evident_bodies(tracks).any()


@pytest.mark.parametrize('around, votes', [(5, False), (WORLD, True)])
def test_a_new_track_votes_as_its_neighbours_do(around, votes):
    labels = np.array([around] * 3 + [NEW] + [around] * 3)
    assert joins_body(labels, row_of_points(7)).tolist() == [False] * 3 + [not votes] + [False] * 3


@pytest.mark.parametrize(('label', 'reason'), [
    (WORLD, ''), (1, 'none of the motions is the static world'),
    (OUTLIER, 'no motion explains the tracks')])
def test_a_result_without_a_world_says_why(label, reason):
    x = np.random.default_rng(0).uniform(20, 400, (30, 2))
    pair = Correspondences.from_arrays(x, x + 1.0, (640, 480), np.arange(30))
    answer = estimate_motions(pair, np.full(30, label), np.zeros(30), None,
                              Camera.guess((640, 480)), lambda body: 0)
    assert answer.reason == reason
    assert (answer.world is None) == bool(reason)


def test_a_member_of_a_body_moves_with_at_least_one_half_and_more_with_more_nats():
    nats = np.array([0.0, constants.SUSPICIOUS, 6.0, 10.0, 20.0])
    moving = moving_probability(np.full(5, 1), nats, np.full(5, constants.CAP))
    assert moving[:2] == pytest.approx(0.5, abs=1e-5) and moving[0] > 0.5
    assert (np.diff(moving[1:]) > 0).all() and 0.8 < moving[3] < 0.95 and moving[4] > 0.99


def test_a_single_track_is_more_often_a_wrong_match_than_a_body():
    moving = moving_probability(np.array([WORLD, WORLD, OUTLIER]), np.full(3, -5.0),
                                np.array([0.0, constants.CAP, constants.CAP]))
    assert moving[0] < 0.01 and 0.2 < moving[1] == moving[2] < 0.5
