# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bag is played to the node over DDS, and all outputs are compared with the ground truth."""

from dataclasses import dataclass
import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from rosbags.highlevel import AnyReader  # noqa: E402, I100

from gdm_motion_seg.errors import InputError  # noqa: E402, I100
from gdm_motion_seg.io.bags import BagReader  # noqa: E402
from gdm_motion_seg.msgs.clouds import stamp_of  # noqa: E402
from gdm_motion_seg.msgs.images import decode_image  # noqa: E402
from gdm_motion_seg.msgs.reading import rows_from_cloud  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg.viz.colors import motion_rgb  # noqa: E402
from gdm_motion_seg_tools.ros.record import DIAGNOSTICS, OUTPUTS, Recorder  # noqa: E402
from gdm_motion_seg_tools.ros.replay import BagPlayer  # noqa: E402
from gdm_motion_seg_tools.synth.scene_bags import (  # noqa: E402
    IMAGE_TOPIC, INFO_TOPIC, SceneOptions, write_scene)
from gdm_motion_seg_tools.synth.score import Scorer  # noqa: E402
from gdm_motion_seg_tools.synth.truth import UNSCORED  # noqa: E402

KEYPOINTS, MOTIONS = '/motion_seg/keypoints', '/motion_seg/motions'
MARKERS, DEBUG = '/motion_seg/markers', '/motion_seg/debug_image'
FRAMES, LOOPS = 45, 3
SIZE = (640, 480)


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Render a bag with its truth."""
    folder = tmp_path_factory.mktemp('bag') / 'scene'
    options = SceneOptions('two_movers', FRAMES, SIZE, 30.0)
    return folder, write_scene(folder, options)


def diagnosed(recorder):
    """Return the values of the last diagnostics."""
    return {pair.key: pair.value for status in recorder.last(DIAGNOSTICS).status
            for pair in status.values}


@pytest.fixture(scope='module')
def answers(session, bag, tmp_path_factory):
    """Play the bag to the node, with its clock, and return what was recorded."""
    log = tmp_path_factory.mktemp('node') / 'log'
    recorder = Recorder(session.node)
    names = {'image': IMAGE_TOPIC, 'camera_info': INFO_TOPIC}
    settings = {'use_sim_time': True, 'diagnostics_period_s': 0.2, 'image_reliability': 'reliable',
                'drawing_rate_hz': 1000.0, 'adapt': False}
    topics = OUTPUTS.keys() - {DIAGNOSTICS}
    with NodeProcess(settings, names, log=log) as node:
        with BagPlayer(session.node, bag[0], clock=True, reliable=True) as player:
            def wait_for_answers(_):
                # Frame by frame: a busy machine is late, but drops nothing.
                sent = sum(message.topic == IMAGE_TOPIC for message in player.sent)
                assert recorder.wait_for(lambda: all(
                    len(recorder.records(topic)) >= sent for topic in topics), 180), (
                        node.output(), recorder.last(DIAGNOSTICS))

            assert player.wait_for_subscribers(180, IMAGE_TOPIC), node.output()
            assert player.wait_for_subscribers(60, INFO_TOPIC), node.output()
            assert recorder.wait_for_publishers(180), node.output()
            player.play(progress=wait_for_answers)
            assert len(player.sent) == player.message_count == 2 * FRAMES
            assert recorder.wait_for(
                lambda: diagnosed(recorder)['answered'] == str(FRAMES), 60), diagnosed(recorder)
        assert node.stop() == 0
        assert 'Traceback' not in node.output()
    yield recorder
    recorder.close()


@dataclass(frozen=True)
class Pair:
    """The result of one pair of frames, with its ground truth."""

    older: int
    newer: int
    points: np.ndarray
    ids: np.ndarray
    bodies: np.ndarray


@pytest.fixture(scope='module')
def pairs(answers, bag):
    """Return every answered pair; stamp and dt identify its frames."""
    truth, found = bag[1], []
    stamps = np.array([frame.stamp for frame in truth.frames])
    spans = {stamp_of(m.header): rows_from_cloud(m) for m in answers.messages(MOTIONS)}
    for cloud in answers.messages(KEYPOINTS):
        newer, rows = stamp_of(cloud.header), rows_from_cloud(cloud)
        if len(rows) and len(spans.get(newer, ())):
            older = newer - round(float(spans[newer]['dt'][0]) * 1e9)
            older = int(stamps[np.abs(stamps - older).argmin()])
            points = np.stack([rows['u'], rows['v']], axis=1)
            found.append(Pair(older, newer, points, rows['label'],
                              truth.point_labels(older, newer, points)))
    assert len(found) == FRAMES - 5
    return found


def test_at_least_97_percent_of_the_labelled_keypoints_are_right(pairs, bag):
    scorer = Scorer(bag[1])
    for pair in pairs:
        scorer.add(pair.older, pair.newer, pair.points, pair.ids)
    score = scorer.score()
    print(f'{score.share_right:.2%} of the labels right, {len(pairs)} pairs')
    assert score.share_right >= 0.97, score
    assert score.share_labelled > 0.8, score


def test_no_motion_changes_its_id_during_the_run(pairs):
    bodies_of = {}
    for pair in pairs:
        for motion in set(pair.ids.tolist()) - {-1}:
            bodies = pair.bodies[(pair.ids == motion) & (pair.bodies != UNSCORED)]
            if len(bodies):
                bodies_of.setdefault(motion, set()).add(int(np.bincount(bodies).argmax()))
    # In every pair an id belongs to the same body, and every body has one id.
    assert sorted(bodies_of.values()) == [{0}, {1}, {2}], bodies_of


def images_of(folder):
    """Return the images of a bag by their stamps."""
    with BagReader(folder) as bag:
        return {stamp_of(m.header): decode_image(m) for _, _, m in bag.messages(IMAGE_TOPIC)}


def test_every_output_carries_the_stamp_and_the_frame_id_of_its_image(answers, bag):
    stamps = [frame.stamp for frame in bag[1].frames]
    for topic in OUTPUTS.keys() - {DIAGNOSTICS, MARKERS}:
        messages = answers.messages(topic)
        found = [stamp_of(message.header) for message in messages]
        assert found == stamps, topic
        assert {message.header.frame_id for message in messages} == {'camera'}
    arrays = answers.messages(MARKERS)
    assert [{stamp_of(m.header) for m in a.markers} for a in arrays] == [{s} for s in stamps]
    assert {m.header.frame_id for array in arrays for m in array.markers} == {'camera'}


def test_the_stamp_is_that_of_the_newer_frame_on_every_output(answers, bag, pairs):
    images, older_of = images_of(bag[0]), {pair.newer: pair.older for pair in pairs}
    drawn = {stamp_of(m.header): m for m in answers.messages(DEBUG)}
    for newer in sorted(drawn.keys() & older_of.keys())[-3:]:
        message = drawn[newer]
        same, other = (np.mean((decode_image(message) == images[stamp]).all(axis=2))
                       for stamp in (newer, older_of[newer]))
        assert same > 0.5 > other
    rows_of = {stamp_of(m.header): rows_from_cloud(m) for m in answers.messages(KEYPOINTS)}
    marked = {stamp_of(m.markers[0].header): m.markers for m in answers.messages(MARKERS)}
    for newer in sorted(marked.keys() & older_of.keys())[-3:]:
        rows = rows_of[newer]
        flow = [m for m in marked[newer] if m.ns == 'flow']
        ends = np.array([(p.x, p.y) for m in flow for p in m.points[1::2]], np.float32)
        rays = {*zip(rows['x'].tolist(), rows['y'].tolist())}
        assert {m.id for m in flow} == {*rows['label'][rows['label'] > 0].tolist()}
        assert {*map(tuple, ends.tolist())} <= rays


NUMPY_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


def test_keypoints_can_be_read_field_by_field_with_numpy_alone(answers):
    cloud = answers.last(KEYPOINTS)
    table = np.frombuffer(bytes(cloud.data), np.uint8).reshape(cloud.width, cloud.point_step)
    order = '>' if cloud.is_bigendian else '<'
    fields = {}
    for field in cloud.fields:
        kind = np.dtype(order + NUMPY_TYPES[field.datatype])
        column = np.ascontiguousarray(table[:, field.offset:field.offset + kind.itemsize])
        fields[field.name] = column.view(kind)[:, 0]
    assert list(fields) == ['x', 'y', 'z', 'u', 'v', 'u_prev', 'v_prev', 'label', 'track_id',
                            'residual', 'moving', 'rgb']
    assert all(np.isfinite(column.astype(np.float64)).all() for column in fields.values())
    assert set(fields['z'].tolist()) == {1.0}
    for name, side in (('u', SIZE[0]), ('v', SIZE[1]), ('u_prev', SIZE[0]), ('v_prev', SIZE[1])):
        assert 0 <= fields[name].min() and fields[name].max() <= side - 1
    assert len(set(fields['track_id'].tolist())) == cloud.width
    assert fields['residual'].min() >= 0
    ids = rows_from_cloud(answers.last(MOTIONS))['id'].tolist()
    assert set(ids) == set(fields['label'].tolist()) - {-1}
    colours = fields['rgb'].view(np.uint32)
    for label in set(fields['label'].tolist()):
        red, green, blue = motion_rgb(label)
        assert set(colours[fields['label'] == label].tolist()) == {red << 16 | green << 8 | blue}


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
    values = diagnosed(answers)
    assert (values['received'], values['dropped']) == (str(FRAMES), '0')
    assert -1000 < float(values['age p50 (ms)']) < 60_000


def test_what_was_recorded_is_a_bag(answers, tmp_path):
    answers.write(tmp_path / 'answers')
    with AnyReader([tmp_path / 'answers']) as reader:
        known = {topic: kind for topic, kind in OUTPUTS.items() if 'vision_msgs' not in kind}
        assert {c.topic: c.msgtype for c in reader.connections} == known
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts[KEYPOINTS] == len(answers.records(KEYPOINTS))
    with pytest.raises(InputError, match='exists already'):
        answers.write(tmp_path / 'answers')


def test_in_a_bag_looped_three_times_the_world_is_always_0_and_no_id_is_used_twice(session, bag,
                                                                                   tmp_path):
    stop, recorder = threading.Event(), Recorder(session.node, {
        topic: OUTPUTS[topic] for topic in (KEYPOINTS, MOTIONS)})
    settings = {'image_reliability': 'reliable', 'diagnostics_period_s': 0.2}
    sent = []

    def wait_for_answer(number):
        sent.append(number)
        assert recorder.wait_for(lambda: all(
            len(recorder.records(topic)) >= len(sent) for topic in (KEYPOINTS, MOTIONS)), 180)
        if len(sent) == LOOPS * FRAMES:
            stop.set()

    with NodeProcess(settings, {'image': '/looped'}, log=tmp_path / 'log') as node:
        with BagPlayer(session.node, bag[0], rate=2.0, loop=True, reliable=True,
                       topics={IMAGE_TOPIC: '/looped'}) as player:
            assert player.wait_for_subscribers(120), node.output()
            assert recorder.wait_for_publishers(180), node.output()
            player.play(stop, wait_for_answer)
        assert node.stop() == 0
        assert 'restarted: the time jumped back' in node.output()
    stamps = [frame.stamp for frame in bag[1].frames]
    clouds, motions = recorder.messages(KEYPOINTS), recorder.messages(MOTIONS)
    assert [stamp_of(m.header) for m in clouds] == stamps * LOOPS
    worlds = [rows['id'][rows['world'] > 0].tolist() for m in motions
              if len(rows := rows_from_cloud(m))]
    assert len(worlds) == LOOPS * (FRAMES - 5) and worlds == [[0]] * len(worlds)
    ids = [set(rows_from_cloud(m)['label'].tolist()) - {-1} for m in clouds]
    assert all(0 in labels for labels in ids if labels)
    rounds = [set().union(*ids[i * FRAMES:(i + 1) * FRAMES]) - {0} for i in range(LOOPS)]
    assert all(rounds) and sum(map(len, rounds)) == len(set().union(*rounds))
    recorder.close()


def test_a_player_refuses_what_it_cannot_play(session, bag, tmp_path):
    with pytest.raises(InputError, match='does not exist'):
        BagPlayer(session.node, tmp_path / 'nothing')
    with pytest.raises(InputError, match="has no topic '/nowhere'"):
        BagPlayer(session.node, bag[0], topics={'/nowhere': '/x'})
    with pytest.raises(InputError, match='rate must be positive'):
        BagPlayer(session.node, bag[0], rate=0.0)
    (tmp_path / 'broken').mkdir()
    with pytest.raises(InputError, match='is not a bag'):
        BagPlayer(session.node, tmp_path / 'broken')
