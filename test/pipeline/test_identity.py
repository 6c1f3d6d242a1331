# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.identity import MotionIdentities, UNKNOWN
from gdm_motion_seg.segmentation.result import Motion, MotionKind, MotionSegmentation, OUTLIER
from gdm_motion_seg.segmentation.stream_config import StreamConfig

NO_MATRIX = np.full((3, 3), np.nan)
ROWS_ONLY = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
COLUMNS_ONLY = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def answer(labels, fundamentals=None):
    """Make a segmentation with these labels."""
    labels = np.asarray(labels, np.int64)
    fundamentals = fundamentals or [NO_MATRIX] * (labels.max(initial=-1) + 1)
    motions = tuple(
        Motion(k, np.flatnonzero(labels == k), MotionKind.GENERAL, '', f, NO_MATRIX, 8.0, 0.1, 1.0)
        for k, f in enumerate(fundamentals))
    return MotionSegmentation(labels, motions, np.zeros(len(labels)), np.ones(len(labels)))


def points(ids, flow=(0.0, 0.0)):
    """Make points on a grid, all with one flow."""
    ids = np.asarray(ids)
    x1 = np.stack([10.0 + ids % 20, 10.0 + ids // 20], axis=1)
    return Correspondences.from_arrays(x1, x1 + flow, (640, 480), ids)


def ids_of(result):
    return [m.id for m in result.motions]


def id_of_each(result):
    return np.append(ids_of(result), OUTLIER)[result.labels]


@pytest.fixture
def identities():
    """Make an empty memory with plain settings."""
    return MotionIdentities(StreamConfig(confirm_frames=3, patience=4, hold_frames=0))


TRACKS = np.arange(60)
TWO = np.repeat([0, 1], [40, 20])


def test_the_first_ids_are_given_in_order_of_support(identities):
    first = identities.identify(points(TRACKS), answer(np.repeat([0, 1, 2], [10, 30, 20])))
    np.testing.assert_array_equal(id_of_each(first), np.repeat([2, 0, 1], [10, 30, 20]))
    assert ids_of(first) == [0, 1, 2]


def test_a_motion_keeps_its_id_when_the_solver_names_it_otherwise(identities):
    before = id_of_each(identities.identify(points(TRACKS), answer(TWO)))
    after = id_of_each(identities.identify(points(TRACKS), answer(1 - TWO)))
    np.testing.assert_array_equal(before, after)


def test_a_motion_keeps_its_id_while_its_tracks_are_replaced_one_by_one(identities):
    tracks = TRACKS.copy()
    rng = np.random.default_rng(0)
    for step in range(200):
        seen = identities.identify(points(np.sort(tracks)), answer(TWO[np.argsort(tracks)]))
        np.testing.assert_array_equal(id_of_each(seen), TWO[np.argsort(tracks)])
        tracks[rng.integers(60)] = 1000 + step


def test_a_motion_that_another_explains_for_some_frames_comes_back_with_its_id(identities):
    # Nothing moves, so that one motion explains all points as well as two.
    identities.identify(points(TRACKS), answer(TWO))
    for _ in range(3):
        swallowed = identities.identify(points(TRACKS), answer(np.zeros(60), [ROWS_ONLY]))
        assert ids_of(swallowed) == [0]
    back = identities.identify(points(TRACKS), answer(TWO))
    np.testing.assert_array_equal(id_of_each(back), TWO)


def rows_and_columns():
    """Return points of which forty move along rows and twenty along columns."""
    x1 = np.random.default_rng(0).uniform(50, 400, (60, 2))
    flow = np.where(TWO[:, None] == 0, (8.0, 0.0), (0.0, 5.0))
    return Correspondences.from_arrays(x1, x1 + flow, (640, 480), TRACKS)


@pytest.mark.parametrize('lost', [OUTLIER, 0], ids=['as outliers', 'in another motion'])
def test_a_motion_is_not_given_up_while_its_tracks_prove_it(identities, lost):
    scene = rows_and_columns()
    identities.identify(scene, answer(TWO, [ROWS_ONLY, COLUMNS_ONLY]))
    for _ in range(12):
        labels = np.where(TWO == 0, 0, lost)
        result = identities.identify(scene, answer(labels, [ROWS_ONLY]))
        np.testing.assert_array_equal(id_of_each(result), TWO)


def test_a_body_that_stood_still_for_long_goes_on_under_its_id(identities):
    identities.identify(points(TRACKS), answer(TWO))
    for _ in range(50):
        identities.identify(points(TRACKS), answer(np.zeros(60), [ROWS_ONLY]))
    back = identities.identify(points(TRACKS), answer(TWO))
    np.testing.assert_array_equal(id_of_each(back), TWO)


def test_a_motion_whose_tracks_are_all_gone_is_a_new_one_when_it_returns(identities):
    identities.identify(points(TRACKS), answer(TWO))
    identities.identify(points(TRACKS[:40]), answer(TWO[:40]))
    later = np.append(TRACKS[:40], np.arange(100, 120))
    for _ in range(3):
        back = identities.identify(points(later), answer(TWO))
    assert ids_of(back) == [0, 2]


def test_a_missed_motion_is_held_for_some_answers_while_its_tracks_move_as_one():
    identities = MotionIdentities(StreamConfig(hold_frames=2, patience=4))
    identities.identify(points(TRACKS), answer(TWO))
    swallowed = [identities.identify(points(TRACKS), answer(np.zeros(60), [ROWS_ONLY]))
                 for _ in range(3)]
    np.testing.assert_array_equal(id_of_each(swallowed[0]), TWO)
    np.testing.assert_array_equal(id_of_each(swallowed[1]), TWO)
    assert ids_of(swallowed[2]) == [0]


def test_a_missed_motion_is_not_held_when_its_tracks_scatter():
    identities = MotionIdentities(StreamConfig(hold_frames=2, patience=4))
    rng = np.random.default_rng(0)
    x1 = rng.uniform(50, 400, (60, 2))
    identities.identify(Correspondences.from_arrays(x1, x1 + 3.0, (640, 480), TRACKS), answer(TWO))
    scattered = Correspondences.from_arrays(x1, rng.uniform(50, 400, (60, 2)), (640, 480), TRACKS)
    assert ids_of(identities.identify(scattered, answer(np.where(TWO == 0, 0, -1)))) == [0]


def test_a_new_motion_is_reported_once_it_was_found_three_times(identities):
    identities.identify(points(TRACKS), answer(np.zeros(60)))
    first, second, third = (identities.identify(points(TRACKS), answer(TWO)) for _ in range(3))
    assert ids_of(first) == ids_of(second) == [0]
    assert (first.labels[40:] == OUTLIER).all() and (first.residuals[40:] > 0).all()
    assert ids_of(third) == [0, 1]


def test_a_chance_find_costs_no_id(identities):
    identities.identify(points(TRACKS), answer(np.zeros(60)))
    for start in (0, 20, 40):
        found = np.zeros(60)
        found[start:start + 12] = 1
        for labels in (found, np.zeros(60), np.zeros(60)):
            assert ids_of(identities.identify(points(TRACKS), answer(labels))) == [0]
    for _ in range(3):
        real = identities.identify(points(TRACKS), answer(TWO))
    assert ids_of(real) == [0, 1]


def test_ids_are_not_used_again_after_a_reset(identities):
    identities.identify(points(TRACKS), answer(TWO))
    identities.reset()
    assert ids_of(identities.identify(points(TRACKS), answer(TWO))) == [2, 3]


def test_a_few_shared_tracks_do_not_pass_an_id_on(identities):
    identities.identify(points(TRACKS), answer(TWO))
    # Motion 1 is gone but for two of its tracks, which a new motion took.
    tracks = np.concatenate([np.arange(42), np.arange(100, 130)])
    for _ in range(3):
        later = identities.identify(points(tracks), answer(np.repeat([0, 1], [40, 32])))
    assert ids_of(later) == [0, 2]


def test_a_track_that_fits_both_motions_does_not_flicker(identities):
    # Flow of zero fits any epipolar geometry, so both motions explain every point.
    both = [ROWS_ONLY, COLUMNS_ONLY]
    identities.identify(points(TRACKS), answer(TWO, both))
    for flip in (True, False, True, True, False):
        labels = TWO.copy()
        labels[:5] = int(flip)
        seen = identities.identify(points(TRACKS), answer(labels, both))
        np.testing.assert_array_equal(id_of_each(seen), TWO)
        assert all((seen.labels[m.members] == k).all() for k, m in enumerate(seen.motions))


def test_a_track_changes_its_motion_at_once_if_the_old_one_does_not_fit(identities):
    rows = points(TRACKS, flow=(9.0, 0.0))
    both = [COLUMNS_ONLY, ROWS_ONLY]
    identities.identify(rows, answer(TWO, both))
    labels = TWO.copy()
    labels[:5] = 1
    seen = identities.identify(rows, answer(labels, both))
    np.testing.assert_array_equal(id_of_each(seen), labels)


def test_a_track_changes_its_motion_after_patience_even_if_both_fit(identities):
    both = [ROWS_ONLY, COLUMNS_ONLY]
    identities.identify(points(TRACKS), answer(TWO, both))
    labels = TWO.copy()
    labels[:5] = 1
    for _ in range(5):
        seen = identities.identify(points(TRACKS), answer(labels, both))
    np.testing.assert_array_equal(id_of_each(seen), labels)


def test_the_start_of_the_next_pair_names_motions_by_support_and_new_tracks_unknown(identities):
    assert identities.previous_labels(TRACKS) is None
    labels = np.repeat([0, 1, -1], [15, 40, 5])
    identities.identify(points(TRACKS), answer(labels))
    start = identities.previous_labels(np.arange(5, 65))
    np.testing.assert_array_equal(start, np.repeat([1, 0, OUTLIER, UNKNOWN], [10, 40, 5, 5]))


def test_no_points_and_no_motions_are_fine(identities):
    nothing = identities.identify(points([]), answer([]))
    assert nothing.n_motions == 0 and len(nothing.labels) == 0
    assert ids_of(identities.identify(points(TRACKS), answer(TWO))) == [0, 1]


def test_memory_is_bounded_by_the_tracks_of_the_last_answer(identities):
    for step in range(300):
        tracks = TRACKS + 10 * step
        identities.identify(points(tracks), answer(np.roll(TWO, step)))
    assert len(identities._memory) == 60
    assert len(identities._found) <= 60 and len(identities._ids) <= 60
