# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Ids over the seam of two parts."""

import numpy as np

from gdm_motion_seg.batch.stitch import FIXED, Mapping, same_bodies, same_keypoints, Seen, stitch


def seen(labels, tracks, shift=0.0, frames=3):
    """Return keypoints on a grid, the same in some frames."""
    count = len(labels)
    place = np.column_stack((np.arange(count) * 20.0 + shift, np.full(count, 7.0)))
    return Seen(np.repeat(np.arange(frames), count), np.tile(place, (frames, 1)),
                np.tile(tracks, frames), np.tile(labels, frames))


def test_ids_go_on_over_a_seam_by_place():
    before = seen([0, 0, 4, 4, 9, -1], [10, 11, 12, 13, 14, 15])
    after = seen([0, 0, 2, 2, 1, -1], [0, 1, 2, 3, 4, 5], shift=0.7)
    labels, tracks = stitch(before, after, next_body=20, next_track=100)
    assert labels(after.label[:6]).tolist() == [0, 0, 4, 4, 9, -1]
    assert tracks(after.track[:6]).tolist() == [10, 11, 12, 13, 14, 15]


def test_what_is_new_gets_ids_that_were_never_used():
    before = seen([0, 3], [0, 1])
    after = seen([0, 1], [0, 1], shift=5.0)
    labels, tracks = stitch(before, after, next_body=20, next_track=100)
    assert labels([0, 1, 2, -1]).tolist() == [0, 20, 21, -1]
    assert tracks([0, 7]).tolist() == [100, 107]


def test_keypoints_of_other_frames_or_places_are_not_the_same():
    before, after = seen([0, 0], [0, 1]), seen([0, 0], [0, 1], shift=3.0)
    assert len(same_keypoints(before, after)[0]) == 0
    later = Seen(after.stamp + 10, before.place, after.track, after.label)
    assert len(same_keypoints(before, later)[0]) == 0


def test_a_few_shared_keypoints_do_not_make_two_bodies_one():
    assert same_bodies(np.array([1] * 10), np.array([2] * 2 + [0] * 8)) == {2: 1}
    assert same_bodies(np.array([1] * 10 + [0] * 8), np.array([2] * 2 + [0] * 8 + [2] * 8)) == {}


def test_each_body_is_matched_once_and_the_world_never():
    before = np.array([1] * 6 + [2] * 4 + [0] * 5)
    after = np.array([7] * 6 + [7] * 1 + [8] * 3 + [9] * 5)
    assert same_bodies(before, after) == {7: 1, 8: 2}


def test_an_empty_overlap_matches_nothing():
    empty = Seen(np.empty(0, np.int64), np.empty((0, 2)), np.empty(0, np.int64),
                 np.empty(0, np.int64))
    labels, _ = stitch(empty, empty, 5, 50)
    assert labels([1]).tolist() == [5]


def test_a_mapping_keeps_the_shape_and_takes_nothing():
    assert Mapping(FIXED, 3)(np.empty(0, np.int64)).shape == (0,)
    assert Mapping({1: 5}, 3)([1, 2, 1]).tolist() == [5, 5, 5]
