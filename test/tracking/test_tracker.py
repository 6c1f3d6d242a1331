# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import cv2
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.tracker import FeatureTracker

PERIOD_NS = 33_000_000


def run(tracker, images, first=0, period=PERIOD_NS):
    return [tracker.track(image, (first + i + 1) * period) for i, image in enumerate(images)]


def test_tracks_follow_a_moving_wall_to_a_tenth_of_a_pixel(wall):
    scene = wall()
    frames = run(FeatureTracker(TrackingConfig(max_tracks=150)), map(scene.frame, range(10)))
    pair = frames[-1]
    assert pair.gap == 6 and len(pair.window.pair) > 60
    error = pair.window.pair.x2 - pair.window.pair.x1 - scene.displacement(6)
    assert np.median(np.abs(error)) < 0.1


def test_a_pair_is_the_frame_and_the_one_a_gap_before_it(wall):
    frames = run(FeatureTracker(TrackingConfig(frame_gap=3)), map(wall().frame, range(6)))
    assert [f.gap for f in frames] == [0, 0, 0, 3, 3, 3]
    assert [f.reason for f in frames[:3]] == [
        'waiting for 3 more frames', 'waiting for 2 more frames', 'waiting for 1 more frame']
    assert frames[-1].stamp - frames[-1].previous_stamp == 3 * PERIOD_NS


def test_a_gap_in_seconds_takes_the_frame_nearest_to_it(wall):
    tracker = FeatureTracker(TrackingConfig(gap_s=0.1))
    frames = run(tracker, map(wall().frame, range(8)))
    assert frames[1].gap == 0 and 'waiting for' in frames[1].reason
    assert [f.gap for f in frames[4:]] == [3, 3, 3, 3]


@pytest.mark.parametrize(('rate', 'gap'), [(10, 2), (30, 6), (60, 12)])
def test_the_default_gap_is_a_fifth_of_a_second_at_every_frame_rate(wall, rate, gap):
    frames = run(FeatureTracker(TrackingConfig()), map(wall().frame, range(gap + 2)),
                 period=10 ** 9 // rate)
    assert frames[-1].gap == gap


@pytest.mark.parametrize('gap_s', [TrackingConfig().gap_s, 0.1])
def test_a_gap_in_frames_is_used_instead_of_the_gap_in_seconds(wall, gap_s):
    tracker = FeatureTracker(TrackingConfig(gap_s=gap_s, frame_gap=2))
    frames = run(tracker, map(wall().frame, range(8)))
    assert [f.gap for f in frames[2:]] == [2] * 6


def test_a_large_gap_covers_displacements_that_two_frames_cannot(wall):
    scene = wall(step=(7.0, 0.0))
    frames = run(FeatureTracker(TrackingConfig(frame_gap=16)), map(scene.frame, range(18)))
    c = frames[-1].window.pair
    assert len(c) > 50
    assert np.median(np.abs(c.x2 - c.x1 - scene.displacement(16))) < 0.2


def test_tracks_that_do_not_move_are_still_tracks(wall):
    frames = run(FeatureTracker(), [wall().frame(0)] * 8)
    c = frames[-1].window.pair
    assert len(c) > 100
    np.testing.assert_allclose(c.x1, c.x2, atol=1e-3)


def test_every_nth_frame_only_is_paired(wall):
    tracker = FeatureTracker(TrackingConfig(frame_gap=2, every_n=3))
    frames = run(tracker, map(wall().frame, range(8)))
    assert [f.gap for f in frames] == [0, 0, 0, 2, 0, 0, 2, 0]
    assert frames[4].reason == 'tracked only (every_n is 3)' and not frames[4].problem


def test_ids_are_constant_and_never_used_twice(wall):
    tracker = FeatureTracker(TrackingConfig(frame_gap=1))
    frames = run(tracker, map(wall(step=(9.0, 0.0)).frame, range(12)))
    for before, after in zip(frames[1:], frames[2:]):
        ids = after.window.pair.ids
        assert (np.diff(ids) > 0).all()
        kept, i, j = np.intersect1d(before.window.pair.ids, ids, return_indices=True)
        assert len(kept) > 0.5 * len(ids)
        np.testing.assert_array_equal(before.window.pair.x2[i], after.window.pair.x1[j])
    known = set(frames[-1].window.pair.ids.tolist())
    tracker.reset()
    again = run(tracker, map(wall(seed=1).frame, range(3)))
    assert known.isdisjoint(again[-1].window.pair.ids.tolist())


def test_corners_are_spread_evenly_and_refill_what_comes_into_view(wall):
    tracker = FeatureTracker(TrackingConfig(frame_gap=1, max_tracks=200))
    frames = run(tracker, map(wall(step=(8.0, 0.0)).frame, range(30)))
    x, y = frames[-1].window.pair.x2.T
    counts, _, _ = np.histogram2d(x, y, bins=(4, 3), range=((0, 320), (0, 240)))
    assert counts.min() >= 0.3 * counts.mean()


def test_tracks_have_the_smallest_distance(wall):
    tracker = FeatureTracker(TrackingConfig(frame_gap=1, min_distance=0.03))
    first = run(tracker, map(wall().frame, range(2)))[-1].window.pair.x1
    distance = np.linalg.norm(first[:, None] - first[None], axis=2) + 1e3 * np.eye(len(first))
    assert distance.min() >= 0.03 * 320 - 1.5


def test_no_more_tracks_than_the_limit(wall):
    tracker = FeatureTracker(TrackingConfig(max_tracks=40, frame_gap=1))
    assert all(f.n_tracks <= 40 for f in run(tracker, map(wall().frame, range(8))))


def test_tracks_are_dropped_where_a_square_covers_the_wall(wall):
    scene = wall(step=(0.0, 0.0))
    rng = np.random.default_rng(1)
    square = cv2.resize(rng.integers(0, 256, (14, 14), np.uint8), (84, 84))
    images = []
    for i in range(14):
        image = scene.frame(0).copy()
        image[60:144, 10 + 9 * i:94 + 9 * i] = square
        images.append(image)
    c = run(FeatureTracker(), images)[-1].window.pair
    flow = c.x2 - c.x1
    still = np.linalg.norm(flow, axis=1) < 0.5
    moved = np.linalg.norm(flow - (54, 0), axis=1) < 0.5
    assert np.mean(still | moved) > 0.97 and moved.sum() > 10


@pytest.mark.parametrize('image', [
    np.zeros((120, 160), np.uint8), np.full((120, 160), 255, np.uint8),
    np.full((120, 160), 90, np.uint8)], ids=['black', 'white', 'grey'])
def test_an_image_without_texture_has_no_tracks(image):
    frames = run(FeatureTracker(TrackingConfig(frame_gap=2)), [image] * 4)
    assert frames[-1].gap == 2 and len(frames[-1].window.pair) == 0


def test_pure_noise_leaves_next_to_no_tracks():
    rng = np.random.default_rng(0)
    frames = run(FeatureTracker(), (rng.integers(0, 256, (240, 320), np.uint8) for _ in range(8)))
    assert len(frames[-1].window.pair) < 8


@pytest.mark.parametrize('what, second, stamp', [
    ('the resolution changed from 320 x 240 to 160 x 120', (160, 120), 8 * PERIOD_NS),
    ('the time jumped back by 0.066 s', (320, 240), 5 * PERIOD_NS),
    ('no frame for 100 s', (320, 240), 7 * PERIOD_NS + 100_000_000_000),
], ids=['resolution', 'backwards', 'far future'])
def test_a_break_in_the_stream_restarts_with_a_reason(wall, what, second, stamp):
    tracker = FeatureTracker()
    run(tracker, map(wall().frame, range(7)))
    broken = tracker.track(wall(size=second).frame(7), stamp)
    assert broken.epoch == 1 and broken.problem and what in broken.reason and broken.gap == 0
    later = run(tracker, map(wall(size=second).frame, range(8, 15)), first=stamp // PERIOD_NS)
    assert later[-1].gap == 6 and len(later[-1].window.pair) > 30


def test_a_doubled_frame_is_ignored_and_changes_nothing(wall):
    scene, plain, doubled = wall(), FeatureTracker(), FeatureTracker()
    run(plain, map(scene.frame, range(6)))
    for i in range(6):
        doubled.track(scene.frame(i), (i + 1) * PERIOD_NS)
        again = doubled.track(scene.frame(i), (i + 1) * PERIOD_NS)
        assert again.gap == 0 and again.problem and 'ignored' in again.reason
    a, b = (t.track(scene.frame(6), 7 * PERIOD_NS).window.pair for t in (plain, doubled))
    np.testing.assert_array_equal(a.x2, b.x2)


def test_nothing_is_tracked_where_the_mask_is_black(wall, tmp_path):
    mask = np.full((240, 320), 255, np.uint8)
    mask[:, :160] = 0
    cv2.imwrite(str(tmp_path / 'mask.png'), mask)
    tracker = FeatureTracker(TrackingConfig(mask_path=str(tmp_path / 'mask.png'), frame_gap=2))
    frames = run(tracker, map(wall(step=(-6.0, 0.0)).frame, range(10)))
    assert all((f.window.pair.x2[:, 0] >= 159).all() for f in frames)
    assert len(frames[-1].window.pair) > 20


def test_a_mask_of_another_size_is_fitted_to_the_image(wall, tmp_path):
    mask = np.full((60, 80), 255, np.uint8)
    mask[30:] = 0
    cv2.imwrite(str(tmp_path / 'mask.png'), mask)
    tracker = FeatureTracker(TrackingConfig(mask_path=str(tmp_path / 'mask.png'), frame_gap=1))
    frames = run(tracker, map(wall().frame, range(3)))
    assert (frames[-1].window.pair.x2[:, 1] <= 120).all()


def test_a_mask_that_cannot_be_used_is_refused_with_its_path(tmp_path):
    text = tmp_path / 'mask.txt'
    text.write_text('no image')
    black = tmp_path / 'black.png'
    cv2.imwrite(str(black), np.zeros((8, 8), np.uint8))
    for path in (tmp_path / 'missing.png', text, black):
        with pytest.raises(InputError, match=path.name):
            FeatureTracker(TrackingConfig(mask_path=str(path)))


def test_memory_is_bounded_whatever_the_gap_and_the_rate(wall):
    tracker = FeatureTracker(TrackingConfig(gap_s=0.5, max_tracks=20))
    image = wall(size=(64, 48)).frame(0)
    for i in range(900):
        frame = tracker.track(image, i * 1_000_000)
    assert len(tracker._history.stamps) <= 64
    assert abs(frame.stamp - frame.previous_stamp - 500_000_000) <= 10_000_000


def test_the_same_images_give_the_same_tracks(wall):
    a, b = (run(FeatureTracker(), map(wall().frame, range(8)))[-1].window.pair
            for _ in range(2))
    np.testing.assert_array_equal(a.ids, b.ids)
    np.testing.assert_array_equal(a.x2, b.x2)


def test_images_above_vga_are_searched_for_corners_at_a_smaller_size(wall):
    scene = wall(size=(1280, 960), step=(4.0, 2.0))
    frames = run(FeatureTracker(TrackingConfig(frame_gap=2)), map(scene.frame, range(4)))
    c = frames[-1].window.pair
    assert len(c) > 200
    assert np.median(np.abs(c.x2 - c.x1 - scene.displacement(2))) < 0.1


def test_large_images_are_tracked_at_a_smaller_size_and_positions_are_those_of_the_image(
        wall, monkeypatch):
    scene = wall(size=(640, 480), step=(6.0, -4.0))
    monkeypatch.setattr('gdm_motion_seg.tracking.tracker.MAX_SIDE', 320)
    tracker = FeatureTracker(TrackingConfig(frame_gap=2))
    c = run(tracker, map(scene.frame, range(4)))[-1].window.pair
    assert c.image_size == (640, 480) and c.x2[:, 0].max() > 500
    assert np.median(np.abs(c.x2 - c.x1 - scene.displacement(2))) < 0.2


@pytest.mark.parametrize('indices, times', [
    ([0, 1, 2, 3, 4, 5, 6, 7, 2, 3], range(1, 11)),
    ([0, 1, 2, 3, 4, 6, 7, 10, 11, 12], [1, 2, 3, 4, 5, 7, 8, 11, 12, 13]),
], ids=['a jerk', 'images left out'])
def test_tracks_survive_a_step_unlike_the_last_one(wall, indices, times):
    scene, tracker = wall((640, 480), step=(6.0, 0.0)), FeatureTracker(TrackingConfig(frame_gap=9))
    for index, at in zip(indices, times, strict=True):
        frame = tracker.track(scene.frame(index), at * PERIOD_NS)
    pair = frame.window.pair
    assert len(pair) > 500
    moved = scene.displacement(indices[-1] - indices[0])
    assert np.median(np.abs(pair.x2 - pair.x1 - moved)) < 0.2
