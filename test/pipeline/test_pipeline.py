# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace

import cv2
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.pipeline import MotionPipeline, PipelineConfig
from gdm_motion_seg.settings import settings_of, with_flat
from gdm_motion_seg.viz.overlay import draw_overlay
from gdm_motion_seg_tools.synth.render import border_mask, render_scene

SIZE = (320, 240)
PERIOD_NS = 33_333_333


@pytest.fixture(scope='module')
def scene():
    """Render a box and a cylinder that move through a room."""
    return list(render_scene('two_movers', 24, size=SIZE))


def run(pipeline, frames):
    return [pipeline.process(frame.image, frame.stamp) for frame in frames]


def bodies_of(*results):
    return {motion.id for result in results for motion in result.motions if not motion.is_world}


def replace_stamp(frame, later_by):
    return replace(frame, stamp=frame.stamp + later_by)


def at(image, points):
    x, y = np.rint(points).astype(int).T
    return image[y, x]


def test_bodies_that_touch_when_they_are_first_seen_are_told_apart():
    frames = list(render_scene('demo', 30))
    result = run(MotionPipeline(), frames)[-1]
    points = result.correspondences
    older = next(frame for frame in frames if frame.stamp == result.previous_stamp)
    truth = older.labels[tuple(np.rint(points.x1).astype(int).T[::-1])]
    owners = {body: np.bincount(result.labels[truth == body] + 1).argmax() - 1
              for body in np.unique(truth) if (truth == body).sum() > 20}
    assert len(owners) == 4 and len(set(owners.values())) == 4


def test_track_and_segment_together_equal_process(scene):
    whole, halves = MotionPipeline(), MotionPipeline()
    for frame in scene:
        one = whole.process(frame.image, frame.stamp)
        other = halves.segment(halves.track(frame.image, frame.stamp))
        np.testing.assert_array_equal(one.segmentation.labels, other.segmentation.labels)
    assert one.has_pair and other.seconds.keys() == one.seconds.keys()


def test_motions_are_forgotten_after_a_break_even_if_the_frames_around_it_are_left_out(scene):
    pipeline = MotionPipeline()
    before = run(pipeline, scene)[-1]
    later = [replace_stamp(frame, 10 ** 10) for frame in scene]
    tracked = [pipeline.track(frame.image, frame.stamp) for frame in later]
    after = pipeline.segment(tracked[-1])
    assert tracked[0].problem and after.has_pair
    ids = [bodies_of(result) for result in (before, after)]
    assert ids[0] and ids[1] and not ids[0] & ids[1]


def test_labels_fit_the_rendered_truth_and_ids_do_not_change():
    scene = list(render_scene('two_movers', 30, first=20))
    results = run(MotionPipeline(), scene)
    right = total = 0
    id_of_body = {}
    for i in range(8, len(scene)):
        frame, result = scene[i], results[i]
        points = result.correspondences
        older = scene[i - result.gap]
        body = at(frame.labels, points.x2)
        sharp = (at(older.labels, points.x1) == body) & ~at(border_mask(frame.labels), points.x2)
        found = result.labels
        told = sharp & (found >= 0)
        for label in np.unique(body[told]):
            most = np.bincount(found[told & (body == label)]).argmax()
            assert id_of_body.setdefault(label, most) == most
            right += np.sum(found[told & (body == label)] == most)
        total += told.sum()
    assert len(set(id_of_body.values())) == len(id_of_body) == 3
    assert right / total >= 0.97


def test_the_same_images_and_seed_give_the_same_answers(scene):
    first, second = (run(MotionPipeline(seed=3), scene[:12])[-1] for _ in range(2))
    np.testing.assert_array_equal(first.segmentation.labels, second.segmentation.labels)
    np.testing.assert_array_equal(first.correspondences.x2, second.correspondences.x2)


def test_a_result_names_its_pair_its_stages_and_its_tracks(scene):
    result = run(MotionPipeline(), scene[:7])[-1]
    assert result.has_pair and result.gap == 6 and result.reason == ''
    assert result.stamp - result.previous_stamp == pytest.approx(6 * PERIOD_NS, abs=10)
    assert list(result.seconds) == ['convert', 'track', 'segment']
    assert all(seconds >= 0 for seconds in result.seconds.values())
    assert result.n_tracks >= len(result.correspondences) > 50
    assert result.correspondences.image_size == SIZE
    assert len(result.segmentation.labels) == len(result.correspondences)


def test_the_text_of_a_result_says_what_moves(scene):
    result = run(MotionPipeline(), scene[:12])[-1]
    one, two = (motion for motion in result.motions if not motion.is_world)
    assert repr(result).endswith(
        f'body {one.id} ({one.count} tracks), body {two.id} ({two.count} tracks) move>')


def test_the_first_frames_wait_and_say_so(scene):
    waiting = run(MotionPipeline(), scene[:2])[-1]
    assert not waiting.has_pair and not waiting.problem
    assert waiting.reason == 'waiting for 0.17 s more'
    assert waiting.previous_stamp == waiting.stamp and waiting.segmentation.n_motions == 0


BAD_IMAGES = {
    '0x0': np.zeros((0, 0, 3), np.uint8), '1x1': np.zeros((1, 1), np.uint8),
    'larger than allowed': np.zeros((2500, 2500), np.uint8)}
NO_IMAGES = {'float': np.zeros((240, 320)), 'two channels': np.zeros((240, 320, 2), np.uint8),
             'text': 'no image'}


@pytest.mark.parametrize('bad', BAD_IMAGES.values(), ids=BAD_IMAGES)
def test_a_bad_image_is_ignored_with_a_reason_and_the_next_is_answered(scene, bad):
    pipeline = MotionPipeline(with_flat(PipelineConfig(), {'tracking.max_image_pixels': 10**6}))
    run(pipeline, scene[:8])
    result = pipeline.process(bad, scene[8].stamp - 1)
    assert result.problem and result.reason.startswith('ignored a frame: image must')
    assert not result.has_pair and len(result.correspondences) == 0
    good = pipeline.process(scene[8].image, scene[8].stamp)
    assert good.has_pair and good.segmentation.n_motions >= 1


@pytest.mark.parametrize('array', NO_IMAGES.values(), ids=NO_IMAGES)
def test_an_array_that_is_not_an_image_raises_and_the_next_frame_has_a_result(scene, array):
    pipeline = MotionPipeline()
    result = run(pipeline, scene[:8])[-1]
    for take in (lambda: pipeline.process(array, scene[8].stamp - 1),
                 lambda: draw_overlay(array, result),
                 lambda: MotionMasks().process(array, result)):
        with pytest.raises(InputError, match=r'^image must be [^\n]*$'):
            take()
    assert pipeline.process(scene[8].image, scene[8].stamp).has_pair


DULL = {'black': np.zeros((240, 320, 3), np.uint8), 'white': np.full((240, 320), 255, np.uint8),
        'saturated 16 bit': np.full((240, 320), 65535, np.uint16)}


@pytest.mark.parametrize('image', DULL.values(), ids=DULL)
def test_an_image_without_texture_gives_a_reason(image):
    pipeline = MotionPipeline()
    result = [pipeline.process(image, (i + 1) * PERIOD_NS) for i in range(8)][-1]
    assert result.problem and 'too little texture' in result.reason
    assert result.segmentation.n_motions == 0


def test_pure_noise_gives_no_motion():
    pipeline, rng = MotionPipeline(), np.random.default_rng(0)
    for i in range(9):
        result = pipeline.process(rng.integers(0, 256, (240, 320), np.uint8), (i + 1) * PERIOD_NS)
    assert result.reason and result.segmentation.n_motions == 0


def test_a_static_scene_is_answered_without_a_second_motion(scene):
    pipeline = MotionPipeline()
    results = [pipeline.process(scene[0].image, (i + 1) * PERIOD_NS) for i in range(9)]
    assert not results[-1].problem and results[-1].segmentation.n_motions <= 1


@pytest.mark.parametrize('make', [
    lambda image: image, lambda image: cv2.cvtColor(image, cv2.COLOR_BGR2GRAY),
    lambda image: cv2.cvtColor(image, cv2.COLOR_BGR2BGRA),
    lambda image: cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.uint16) * 16,
], ids=['BGR', 'grey', 'BGRA', '16 bit'])
def test_every_kind_of_image_is_answered(scene, make):
    pipeline = MotionPipeline()
    result = [pipeline.process(make(f.image), f.stamp) for f in scene[:8]][-1]
    assert result.has_pair and result.segmentation.n_motions >= 1


def test_a_change_of_encoding_in_the_stream_has_no_effect(scene):
    pipeline = MotionPipeline()
    run(pipeline, scene[:8])
    grey = cv2.cvtColor(scene[8].image, cv2.COLOR_BGR2GRAY)
    assert pipeline.process(grey, scene[8].stamp).has_pair


def test_a_loop_of_the_recording_restarts_tracking_and_gives_new_ids(scene):
    pipeline = MotionPipeline()
    before = run(pipeline, scene[:8])
    after = run(pipeline, scene[:8])
    assert after[0].problem and 'jumped back' in after[0].reason
    assert after[-1].has_pair
    assert bodies_of(*before) and bodies_of(*before).isdisjoint(bodies_of(after[-1]))
    assert after[-1].world is not None and after[-1].world.id == 0


def test_a_reset_forgets_tracks_and_bodies_and_uses_no_id_twice(scene):
    pipeline = MotionPipeline()
    before = run(pipeline, scene[:8])[-1]
    pipeline.reset()
    after = run(pipeline, scene[8:16])
    assert after[0].reason == 'waiting for 0.20 s more'
    assert bodies_of(before).isdisjoint(bodies_of(after[-1]))
    assert before.correspondences.ids.max() < after[-1].correspondences.ids.min()


def test_new_settings_of_the_segmentation_keep_tracks_and_ids(scene):
    pipeline = MotionPipeline()
    before = run(pipeline, scene[:8])[-1]
    pipeline.reconfigure(with_flat(pipeline.config, {'segmentation.time_budget_ms': 40.0}))
    after = run(pipeline, scene[8:9])[-1]
    assert after.has_pair
    assert after.segmentation.motions[0].id == before.segmentation.motions[0].id


def test_new_settings_of_the_tracking_restart_it(scene):
    pipeline = MotionPipeline()
    run(pipeline, scene[:8])
    pipeline.reconfigure(with_flat(pipeline.config, {'tracking.frame_gap': 2}))
    results = run(pipeline, scene[8:12])
    assert [r.gap for r in results] == [0, 0, 2, 2]


def test_a_mask_that_is_missing_is_refused_when_the_pipeline_is_made():
    with pytest.raises(InputError, match='nowhere.png'):
        MotionPipeline(with_flat(PipelineConfig(), {'tracking.mask_path': '/nowhere.png'}))


def test_points_are_undistorted_if_the_camera_is_known(scene):
    pipeline = MotionPipeline()
    k = [288.0, 0.0, 159.5, 0.0, 288.0, 119.5, 0.0, 0.0, 1.0]
    pipeline.camera = Camera.from_info(k, [0.1, -0.02, 0.0, 0.0, 0.0], 'plumb_bob', SIZE)
    result = run(pipeline, scene[:8])[-1]
    assert result.undistorted is not None
    np.testing.assert_array_equal(result.undistorted.ids, result.correspondences.ids)
    np.testing.assert_allclose(result.undistorted.x2,
                               pipeline.camera.undistort(result.correspondences.x2))
    corner = np.linalg.norm(result.correspondences.x2 - (159.5, 119.5), axis=1).argmax()
    assert np.linalg.norm(result.undistorted.x2 - result.correspondences.x2, axis=1)[corner] > 1.0


@pytest.mark.parametrize('change', [{'image_size': (640, 480)}, {'distortion': np.zeros(0)}],
                         ids=['of another image size', 'without distortion'])
def test_a_camera_that_does_not_apply_changes_nothing(scene, change):
    pipeline = MotionPipeline()
    k = [288.0, 0.0, 159.5, 0.0, 288.0, 119.5, 0.0, 0.0, 1.0]
    camera = Camera.from_info(k, [0.1, -0.02, 0.0, 0.0, 0.0], 'plumb_bob', SIZE)
    pipeline.camera = replace(camera, **change)
    assert run(pipeline, scene[:7])[-1].undistorted is None


def test_every_setting_has_a_range_or_choices_and_a_sentence():
    for setting in settings_of(PipelineConfig):
        assert setting.description.endswith('.'), setting.name
        if setting.type in (int, float):
            assert np.isfinite([setting.low, setting.high]).all(), setting.name
