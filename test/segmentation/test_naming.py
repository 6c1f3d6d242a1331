# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np

from gdm_motion_seg.segmentation.naming import Names
from gdm_motion_seg.segmentation.result import NEW

IDS = np.arange(30)
TWO = np.repeat([0, 1, 2], 10)
STEP = 33_000_000


def say(names, labels, frame, ids=IDS):
    labels = np.asarray(labels)
    return names.assign(names.recall(ids), labels, np.zeros(len(labels)), (frame + 1) * STEP)


def test_a_body_keeps_its_id_if_its_label_changes():
    names = Names()
    first = say(names, TWO, 0)
    swapped = say(names, np.where(TWO == 0, 0, 3 - TWO), 1)
    np.testing.assert_array_equal(first, swapped)


def test_the_world_and_wrong_matches_keep_their_labels():
    named = say(Names(), [0] * 15 + [-1] * 15, 0)
    assert set(named.tolist()) == {0, -1}


def test_a_new_body_gets_a_new_id():
    names = Names()
    say(names, np.where(TWO == 2, 0, TWO), 0)
    assert set(say(names, TWO, 1).tolist()) == {0, 1, 2}


def test_a_body_that_stops_gets_its_id_back():
    names = Names()
    first = say(names, TWO, 0)
    for frame in range(1, 20):
        say(names, np.zeros(30, int), frame)
    np.testing.assert_array_equal(say(names, TWO, 20), first)


def test_a_body_that_returns_with_other_tracks_gets_a_new_id():
    names = Names()
    first = say(names, TWO, 0)
    later = say(names, TWO, 1, IDS + len(IDS))
    assert set(first[first > 0].tolist()).isdisjoint(later[TWO > 0].tolist())


def test_ids_are_not_reused_after_a_reset():
    names = Names()
    first = say(names, TWO, 0)
    names.reset()
    assert names.recall(IDS)['label'].tolist() == [NEW] * 30
    assert set(first[first > 0].tolist()).isdisjoint(say(names, TWO, 1)[TWO > 0].tolist())


def test_of_two_parts_of_a_body_the_larger_keeps_the_id():
    names = Names()
    first = say(names, np.where(np.arange(30) < 10, 0, 1), 0)
    split = say(names, np.where(np.arange(30) < 10, 0, np.where(np.arange(30) < 16, 1, 2)), 1)
    assert split[20] == first[20] and split[12] not in (0, first[20])


def test_the_time_since_an_id_exists_is_known():
    names = Names()
    named = say(names, TWO, 4)
    say(names, TWO, 9)
    assert names.since(int(named[15])) == 5 * STEP
