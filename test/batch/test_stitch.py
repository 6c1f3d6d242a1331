# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Ids over the seam of two parts."""

import numpy as np

from gdm_motion_seg.batch.stitch import FIXED, Mapping, same_bodies, Seen, stitch


def seen(labels, tracks, frames=3):
    """Return keypoints, the same in some frames."""
    return Seen(np.repeat(np.arange(frames), len(labels)), np.tile(tracks, frames),
                np.tile(labels, frames))


def test_bodies_with_common_tracks_keep_their_ids_over_a_seam():
    before = seen([0, 0, 4, 4, 9, -1], [10, 11, 12, 13, 14, 15])
    after = seen([-1, 1, 2, 2, 0, 0], [15, 14, 13, 12, 11, 10])
    assert stitch(before, after, 20)(after.label[:6]).tolist() == [-1, 9, 4, 4, 0, 0]


def test_new_bodies_get_unused_ids():
    labels = stitch(seen([0, 3], [0, 1]), seen([0, 1], [0, 2]), 20)
    assert labels([0, 1, 2, -1]).tolist() == [0, 20, 21, -1]


def test_the_same_track_in_other_frames_does_not_make_bodies_the_same():
    before, after = seen([3, 3], [0, 1]), seen([1, 1], [0, 1])
    later = Seen(after.stamp + 10, after.track, after.label)
    assert stitch(before, after, 20)([1]).tolist() == [3]
    assert stitch(before, later, 20)([1]).tolist() == [20]


def test_a_few_shared_keypoints_do_not_make_two_bodies_one():
    assert same_bodies(np.array([1] * 10), np.array([2] * 2 + [0] * 8)) == {2: 1}
    assert same_bodies(np.array([1] * 10 + [0] * 8), np.array([2] * 2 + [0] * 8 + [2] * 8)) == {}


def test_each_body_is_matched_once_and_the_world_never():
    before = np.array([1] * 6 + [2] * 4 + [0] * 5)
    after = np.array([7] * 6 + [7] * 1 + [8] * 3 + [9] * 5)
    assert same_bodies(before, after) == {7: 1, 8: 2}


def test_an_empty_overlap_matches_nothing():
    empty = seen([], [])
    assert stitch(empty, empty, 5)([1]).tolist() == [5]


def test_a_mapping_keeps_the_shape_also_of_empty_arrays():
    assert Mapping(FIXED, 3)(np.empty(0, np.int64)).shape == (0,)
    assert Mapping({1: 5}, 3)([1, 2, 1]).tolist() == [5, 5, 5]
