# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Adaptation to a slow machine: fewer tracks, not fewer results."""

import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg.ros.adaptation import Adaptation, FLOOR_TRACKS, HIGH, Pace, PATIENCE
from gdm_motion_seg.ros.diagnostics import OK, output_health, Statistics, WARN
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.tracker import FeatureTracker

MAX_TRACKS = 1500
PERIOD = 0.04


class Machine:
    """A simulated machine: a fixed time per image and a time per track."""

    def __init__(self, fixed, per_track, rate=1.0):
        """Begin at the first image; a bag plays ``rate`` times as fast as its stamps say."""
        self.fixed, self.per_track = fixed, per_track
        self.policy, self.index, self.rate = Adaptation(), 0, rate
        self.share, self.free_at = 1.0, 0.0

    def run(self, images):
        """Let images arrive; return the share after each and how many were dropped."""
        shares, dropped = [], 0
        for _ in range(images):
            now = self.index * PERIOD / self.rate
            lost = now < self.free_at
            self.policy.arrived(round(self.index * PERIOD * 1e9) + 10**9, now, lost)
            self.index += 1
            dropped += lost
            if not lost:
                self.share = self.policy.decide(MAX_TRACKS)
                took = self.fixed + self.per_track * self.share * MAX_TRACKS
                self.free_at = now + took
                self.policy.took('track', took)
                self.policy.took('answer', 0.5 * took)
            shares.append(self.share)
        return shares, dropped


def test_a_machine_that_is_fast_enough_keeps_all_tracks():
    shares, dropped = Machine(0.01, 0.015 / MAX_TRACKS).run(300)
    assert set(shares) == {1.0} and dropped == 0


def test_without_dropped_images_all_tracks_are_kept_up_to_a_load_of_one():
    shares, dropped = Machine(0.01, 0.029 / MAX_TRACKS).run(300)
    assert 0.039 / PERIOD > HIGH
    assert set(shares) == {1.0} and dropped == 0


@pytest.mark.parametrize('rate', [1.0, 2.0])
def test_on_a_slow_machine_tracks_are_reduced_until_no_image_is_dropped(rate):
    machine = Machine(0.01 / rate, 0.06 / rate / MAX_TRACKS, rate)
    shares, dropped = machine.run(40)
    assert shares[-1] < 0.6 and dropped > 0
    later, dropped = machine.run(400)
    assert dropped == 0
    assert max(later) < 0.6, 'it does not go up only to come down again'


def test_the_share_converges():
    machine = Machine(0.01, 0.06 / MAX_TRACKS)
    machine.run(1000)
    shares, _ = machine.run(1000)
    assert len(set(shares)) == 1


def test_the_tracks_come_back_in_steps_when_the_machine_is_free_again():
    machine = Machine(0.01, 0.06 / MAX_TRACKS)
    machine.run(100)
    low = machine.share
    machine.per_track = 0.005 / MAX_TRACKS
    shares, dropped = machine.run(PATIENCE + 10)
    assert low < shares[-1] < 1.0
    shares, _ = machine.run(10 * PATIENCE)
    assert shares[-1] == 1.0 and dropped == 0


def test_at_the_smallest_number_of_tracks_the_diagnostics_say_that_the_machine_is_too_slow():
    machine = Machine(0.2, 0.06 / MAX_TRACKS)
    shares, _ = machine.run(300)
    assert round(shares[-1] * MAX_TRACKS) == FLOOR_TRACKS
    pace = machine.policy.pace()
    assert pace.at_floor and pace.load == pytest.approx(0.22 / PERIOD, rel=0.01)
    statistics = Statistics()
    statistics.answered(0.2, 0.2, 500, 2, '')
    health = output_health('motion_seg', 'active', statistics.snapshot(), 5.0, {}, pace=pace)
    assert health.level == WARN and 'too slow' in health.message


def test_the_diagnostics_show_load_and_share():
    statistics = Statistics()
    statistics.answered(0.02, 0.02, 700, 2, '')
    health = output_health('motion_seg', 'active', statistics.snapshot(), 5.0, {},
                           pace=Pace(0.5, 0.7))
    assert health.level == OK and '50%' in health.message
    assert health.values['load'] == '0.70'
    assert health.values['share of tracks and effort'] == '0.50'


def test_a_setting_below_the_smallest_number_of_tracks_is_not_reduced():
    policy = Adaptation()
    for i in range(100):
        policy.arrived(10**9 + i * 10**7, 0.01 * i, dropped=True)
        assert policy.decide(300) == 1.0
        policy.took('track', 1.0)
        policy.took('answer', 1.0)
    assert policy.pace().at_floor


def test_one_slow_image_and_stamps_that_jump_back_change_nothing():
    policy = Adaptation()
    for i in range(200):
        policy.arrived(10**9 + i % 50 * 10**8, 0.1 * i, dropped=i == 20)
        assert policy.decide(MAX_TRACKS) == 1.0
        policy.took('track', 3.0 if i == 19 else 0.02)
        policy.took('answer', 0.02)


def test_a_reset_restores_all_tracks():
    machine = Machine(0.2, 0.06 / MAX_TRACKS)
    machine.run(100)
    machine.policy.reset()
    assert machine.policy.pace() == Pace()


def frames(count):
    """Return noise that moves to the right, and stamps."""
    noise = np.random.default_rng(0).integers(0, 255, (60, 100), np.uint8)
    large = np.kron(noise, np.ones((4, 4), np.uint8))
    return [(np.ascontiguousarray(large[:, i:i + 320]), 10**9 + i * 33_333_333)
            for i in range(count)]


def test_a_lower_share_thins_the_tracks_out_at_once_and_keeps_old_and_new_ones():
    tracker = FeatureTracker(TrackingConfig(max_tracks=400))
    for grey, stamp in frames(8):
        tracker.track(grey, stamp)
    many = set(tracker._ids.tolist())
    tracker.share = 0.5
    grey, stamp = frames(9)[8]
    tracked = tracker.track(grey, stamp)
    assert tracked.n_tracks <= 200
    kept = set(tracker._ids.tolist()) & many
    assert len(kept) > 150
    assert min(many) in kept, 'the oldest track lives on'
    assert isinstance(tracked.window.pair, Correspondences)
    assert len(tracked.window) > 100


def test_the_share_lowers_the_effort_and_leaves_the_settings_as_they_are(scene):
    pipeline, frames = MotionPipeline(), iter(scene.frames)
    for share in (1.0, 0.4):
        pipeline.share = share
        assert any(pipeline.process(frame.image, frame.stamp).has_pair for frame in frames)
        assert pipeline._segmenter.config.effort == pytest.approx(share)
    assert pipeline.config.segmentation.effort == 1.0
