# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faulty streams: the pipeline gives a reason and continues."""

import numpy as np
import pytest

from gdm_motion_seg.pipeline import MotionPipeline, PipelineConfig
from gdm_motion_seg.settings import with_flat
from gdm_motion_seg_tools.synth.render import render_scene

SIZE = (320, 240)
PERIOD_NS = 33_333_333


@pytest.fixture(scope='module')
def frames():
    """Render one mover in a room."""
    return list(render_scene('small_mover', 22, size=SIZE))


def answers_within(pipeline, frames, first_stamp):
    """Send good frames and return the first result with a pair."""
    for i, frame in enumerate(frames):
        result = pipeline.process(frame.image, first_stamp + i * PERIOD_NS)
        if result.has_pair:
            return result
    raise AssertionError('no pair came about')


STAMPS = {
    'equal': lambda good: good,
    'backwards': lambda good: good - 3 * PERIOD_NS,
    'zero': lambda good: 0,
    'negative': lambda good: -5,
    'far in the future': lambda good: good + 10**18,
    'beyond 64 bits': lambda good: 2**70,
}


@pytest.mark.parametrize('stamp', STAMPS.values(), ids=STAMPS)
def test_a_bad_stamp_gets_a_reason_and_later_frames_are_answered(frames, stamp):
    pipeline = MotionPipeline()
    for frame in frames[:8]:
        last = pipeline.process(frame.image, frame.stamp)
    bad = pipeline.process(frames[8].image, stamp(last.stamp))
    assert not bad.has_pair and bad.problem and bad.reason
    good = answers_within(pipeline, frames[9:], frames[9].stamp)
    assert good.segmentation.n_motions >= 1 and np.isfinite(good.correspondences.x2).all()


def test_dropped_frames_are_bridged(frames):
    pipeline = MotionPipeline()
    results = [pipeline.process(f.image, f.stamp) for i, f in enumerate(frames) if i % 4 != 3]
    assert all(r.has_pair for r in results[5:])
    assert len(results[-1].correspondences) > 40


def test_a_resolution_that_changes_with_every_frame_never_pairs_and_never_raises(frames):
    pipeline = MotionPipeline()
    for i, frame in enumerate(frames[:8]):
        image = frame.image if i % 2 else frame.image[:120, :160]
        result = pipeline.process(image, frame.stamp)
        assert not result.has_pair and (i == 0 or 'resolution changed' in result.reason)


def test_black_frames_restart_the_tracks_and_later_frames_have_results(frames):
    pipeline = MotionPipeline()
    for frame in frames[:8]:
        pipeline.process(frame.image, frame.stamp)
    dark = pipeline.process(np.zeros_like(frames[8].image), frames[8].stamp)
    assert dark.problem and 'too little texture' in dark.reason
    for frame in frames[9:]:
        result = pipeline.process(frame.image, frame.stamp)
    assert result.has_pair and result.segmentation.n_motions >= 1


def test_a_camera_that_only_turns_gives_results_without_nan():
    pipeline = MotionPipeline()
    for frame in render_scene('pure_rotation', 9, size=SIZE):
        result = pipeline.process(frame.image, frame.stamp)
    assert result.has_pair and 1 <= result.segmentation.n_motions <= 2
    assert np.isfinite(result.segmentation.moving).all()


def test_fewer_than_eight_tracks_are_reported_as_too_few():
    image = np.full((240, 320), 128, np.uint8)
    for x, y in ((60, 60), (200, 80), (100, 180)):
        image[y:y + 12, x:x + 12] = 255
    pipeline = MotionPipeline(with_flat(PipelineConfig(), {'tracking.max_tracks': 8,
                                                           'tracking.min_distance': 0.2}))
    for i in range(8):
        result = pipeline.process(np.roll(image, i, axis=1), (i + 1) * PERIOD_NS)
    assert result.problem and result.segmentation.n_motions == 0
    assert 'tracks' in result.reason


def test_an_8k_image_is_processed():
    rng = np.random.default_rng(0)
    image = np.kron(rng.integers(0, 256, (135, 240), np.uint8), np.ones((32, 32), np.uint8))
    pipeline = MotionPipeline(with_flat(PipelineConfig(), {'tracking.frame_gap': 1}))
    for i in range(2):
        result = pipeline.process(np.roll(image, 5 * i, axis=1), (i + 1) * PERIOD_NS)
    assert result.has_pair and len(result.correspondences) > 100
    flow = result.correspondences.x2 - result.correspondences.x1
    np.testing.assert_allclose(np.median(flow, axis=0), (5, 0), atol=0.3)


def test_a_driver_that_reuses_its_buffer_is_tracked_correctly(frames):
    shared, plain = MotionPipeline(), MotionPipeline()
    buffer = np.empty(frames[0].image.shape[:2], np.uint8)
    for frame in frames[:8]:
        buffer[:] = frame.image[:, :, 1]
        a = shared.process(buffer, frame.stamp)
        b = plain.process(frame.image[:, :, 1].copy(), frame.stamp)
    np.testing.assert_array_equal(a.correspondences.x2, b.correspondences.x2)


def test_memory_does_not_grow_with_the_stream(frames):
    pipeline = MotionPipeline()
    for i in range(60):
        frame = frames[i % 20 if (i // 20) % 2 == 0 else 19 - i % 20]
        pipeline.process(frame.image, (i + 1) * PERIOD_NS)
    assert len(pipeline._tracker._history.stamps) <= 20
    assert len(pipeline._segmenter._names._memory) <= pipeline.config.tracking.max_tracks
