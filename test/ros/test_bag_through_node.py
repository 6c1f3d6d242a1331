# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bag in, all outputs out, held against the truth of the rendered scene; everything over DDS."""

import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from rosbags.highlevel import AnyReader  # noqa: E402, I100

from gdm_motion_seg.errors import InputError  # noqa: E402, I100
from gdm_motion_seg.io.scene_bags import IMAGE_TOPIC, INFO_TOPIC, SceneOptions  # noqa: E402
from gdm_motion_seg.io.scene_bags import write_scene  # noqa: E402
from gdm_motion_seg.msgs.clouds import rows_from_cloud, stamp_of  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg.ros.record import DIAGNOSTICS, OUTPUTS, Recorder  # noqa: E402
from gdm_motion_seg.ros.replay import BagPlayer  # noqa: E402
from gdm_motion_seg.synth.score import Scorer  # noqa: E402

KEYPOINTS, MOTIONS = '/motion_seg/keypoints', '/motion_seg/motions'
MARKERS, DEBUG = '/motion_seg/markers', '/motion_seg/debug_image'
FRAMES = 45


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Render a bag with its truth."""
    folder = tmp_path_factory.mktemp('bag') / 'scene'
    options = SceneOptions('small_mover', FRAMES, (320, 240), 30.0)
    return folder, write_scene(folder, options)


@pytest.fixture(scope='module')
def answers(session, bag, tmp_path_factory):
    """Play the bag through the node, by its clock, and give what was recorded."""
    log = tmp_path_factory.mktemp('node') / 'log'
    recorder = Recorder(session.node)
    names = {'image': IMAGE_TOPIC, 'camera_info': INFO_TOPIC}
    settings = {'use_sim_time': True, 'diagnostics_period_s': 0.2, 'image_reliability': 'reliable',
                'image_depth': 10}
    with NodeProcess(settings, names, log=log) as node:
        # Slowly, so that a busy machine drops no frame.
        with BagPlayer(session.node, bag[0], rate=0.2, clock=True, reliable=True) as player:
            assert player.wait_for_subscribers(120, IMAGE_TOPIC), node.output()
            assert player.wait_for_subscribers(60, INFO_TOPIC), node.output()
            assert recorder.wait_for_publishers(180), node.output()
            player.play()
            assert len(player.sent) == player.message_count == 2 * FRAMES
            last = bag[1].frames[-1].stamp
            assert recorder.wait_for(lambda: all(
                recorder.records(topic) and stamp_of(recorder.last(topic).header) == last
                for topic in (KEYPOINTS, MOTIONS, DEBUG)), 180), (node.output(), {
                    topic: len(recorder.records(topic)) for topic in OUTPUTS},
                    recorder.last(DIAGNOSTICS))
        assert node.stop() == 0
        assert 'Traceback' not in node.output()
    yield recorder
    recorder.close()


def test_at_least_97_percent_of_the_labelled_keypoints_are_right(answers, bag):
    truth = bag[1]
    spans = {stamp_of(m.header): rows_from_cloud(m) for m in answers.messages(MOTIONS)}
    scorer, answered = Scorer(truth), 0
    for cloud in answers.messages(KEYPOINTS):
        stamp, rows = stamp_of(cloud.header), rows_from_cloud(cloud)
        if len(rows) == 0 or len(spans.get(stamp, ())) == 0:
            continue
        answered += 1
        wanted = stamp - round(spans[stamp]['dt'][0] * 1e9)
        older = min((frame.stamp for frame in truth.frames), key=lambda s: abs(s - wanted))
        scorer.add(older, stamp, np.stack([rows['u'], rows['v']], axis=1), rows['label'])
    score = scorer.score()
    assert answered > 0.7 * FRAMES
    assert score.share_right >= 0.97, score
    assert score.share_labelled > 0.8, score


def test_every_output_carries_the_stamp_and_the_frame_id_of_an_image(answers, bag):
    stamps = [frame.stamp for frame in bag[1].frames]
    for topic in (KEYPOINTS, MOTIONS, DEBUG, DEBUG + '/compressed'):
        messages = answers.messages(topic)
        found = [stamp_of(message.header) for message in messages]
        assert set(found) <= set(stamps)
        assert found == sorted(set(found))
        assert {message.header.frame_id for message in messages} == {'camera'}
    for array in answers.messages(MARKERS):
        assert {(m.header.frame_id, stamp_of(m.header) in stamps) for m in array.markers} == {
            ('camera', True)}


def test_the_rays_follow_the_calibration(answers, bag):
    camera = bag[1].camera
    rows = rows_from_cloud(answers.last(KEYPOINTS))
    np.testing.assert_allclose(rows['x'], (rows['u'] - camera[0, 2]) / camera[0, 0], atol=1e-5)
    np.testing.assert_allclose(rows['y'], (rows['v'] - camera[1, 2]) / camera[1, 1], atol=1e-5)


def test_motions_and_keypoints_agree(answers):
    motions = {stamp_of(m.header): rows_from_cloud(m) for m in answers.messages(MOTIONS)}
    compared = 0
    for cloud in answers.messages(KEYPOINTS):
        rows = rows_from_cloud(cloud)
        for motion in motions.get(stamp_of(cloud.header), ()):
            own = rows[rows['label'] == motion['id']]
            assert len(own) == motion['count']
            box = own['u'].min(), own['v'].min(), own['u'].max(), own['v'].max()
            np.testing.assert_array_equal(motion['box'], box)
            compared += 1
    assert compared > 20


def test_the_age_is_measured_by_the_clock_of_the_bag(answers):
    values = {pair.key: pair.value for status in answers.last(DIAGNOSTICS).status
              for pair in status.values}
    assert int(values['received']) > 0.7 * FRAMES
    assert -1000 < float(values['age p50 (ms)']) < 60_000


def test_what_was_recorded_is_a_bag(answers, tmp_path):
    answers.write(tmp_path / 'answers')
    with AnyReader([tmp_path / 'answers']) as reader:
        assert {c.topic: c.msgtype for c in reader.connections} == OUTPUTS
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts[KEYPOINTS] == len(answers.records(KEYPOINTS))
    with pytest.raises(InputError, match='exists already'):
        answers.write(tmp_path / 'answers')


def test_a_looping_bag_starts_afresh_and_gives_no_id_twice(session, bag, tmp_path):
    stop, recorder = threading.Event(), Recorder(session.node, {
        KEYPOINTS: OUTPUTS[KEYPOINTS]})
    settings = {'image_reliability': 'reliable', 'image_depth': 10, 'stream.confirm_frames': 1}

    def watch(_):
        if len(recorder.records(KEYPOINTS)) > 1.5 * FRAMES:
            stop.set()

    with NodeProcess(settings, {'image': '/looped'}, log=tmp_path / 'log') as node:
        with BagPlayer(session.node, bag[0], rate=0.5, loop=True, reliable=True,
                       topics={IMAGE_TOPIC: '/looped'}) as player:
            assert player.wait_for_subscribers(120), node.output()
            assert recorder.wait_for_publishers(180), node.output()
            player.play(stop, watch)
        assert node.stop() == 0
        assert 'started afresh: the time jumped back' in node.output()
    stamps = [stamp_of(m.header) for m in recorder.messages(KEYPOINTS)]
    jump = next(i for i in range(1, len(stamps)) if stamps[i] < stamps[i - 1])
    ids = [set(rows_from_cloud(m)['label'].tolist()) - {-1} for m in recorder.messages(KEYPOINTS)]
    before, after = set().union(*ids[:jump]), set().union(*ids[jump:])
    assert before and after and not before & after
    recorder.close()


def test_a_player_refuses_what_it_cannot_play(session, bag, tmp_path):
    with pytest.raises(InputError, match='does not exist'):
        BagPlayer(session.node, tmp_path / 'nothing')
    with pytest.raises(InputError, match="has no topic '/nowhere'"):
        BagPlayer(session.node, bag[0], topics={'/nowhere': '/x'})
    with pytest.raises(InputError, match='rate must be positive'):
        BagPlayer(session.node, bag[0], rate=0.0)
    (tmp_path / 'broken').mkdir()
    with pytest.raises(InputError, match='is no bag'):
        BagPlayer(session.node, tmp_path / 'broken')
