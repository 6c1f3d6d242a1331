# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Masks, instances and the id of the world over DDS; the example of a subscriber."""

import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from sensor_msgs.msg import Image  # noqa: E402, I100

from gdm_motion_seg.msgs.clouds import stamp_of  # noqa: E402, I100
from gdm_motion_seg.msgs.reading import rows_from_cloud  # noqa: E402
from gdm_motion_seg.msgs.results import vision_messages  # noqa: E402
from gdm_motion_seg.msgs.types import ros_types  # noqa: E402
from gdm_motion_seg.ros.process import dds_environment, NodeProcess  # noqa: E402
from gdm_motion_seg_tools.ros.record import Recorder  # noqa: E402
from gdm_motion_seg_tools.ros.session import wait_until  # noqa: E402

MASK, INSTANCES = '/motion_seg/mask', '/motion_seg/instances'
KEYPOINTS, MOTIONS = '/motion_seg/keypoints', '/motion_seg/motions'
IMAGE, CLOUD = 'sensor_msgs/msg/Image', 'sensor_msgs/msg/PointCloud2'
LOOPS, FRAMES = 3, 22
EXAMPLE = Path(__file__).resolve().parents[2] / 'examples' / 'what_moves.py'


@pytest.fixture(scope='module')
def looped(session, scene, tmp_path_factory):
    """Play the same frames three times to a node; return its messages and the example's output."""
    folder = tmp_path_factory.mktemp('node')
    recorder = Recorder(session.node, {MASK: IMAGE, INSTANCES: IMAGE, KEYPOINTS: CLOUD,
                                       MOTIONS: CLOUD})
    images = session.node.create_publisher(Image, 'image', 1)
    settings = {'image_reliability': 'reliable', 'diagnostics_period_s': 0.1,
                'mask_dilation_px': 2}
    with (folder / 'example').open('w') as said, \
            NodeProcess(settings, log=folder / 'log') as node:
        example = subprocess.Popen(
            [sys.executable, '-u', EXAMPLE, '--ros-args', '-r', f'motions:={MOTIONS}'],
            env={**os.environ, **dds_environment()}, stdout=said, stderr=subprocess.STDOUT)
        assert wait_until(images.get_subscription_count, 180), node.output()
        assert recorder.wait_for_publishers(180), node.output()
        for _ in range(LOOPS):
            for index in range(FRAMES):
                known = len(recorder.records(MASK))
                images.publish(scene.moment(ros_types(), index).message())
                assert recorder.wait_for(lambda: len(recorder.records(MASK)) > known, 180)
        heard = wait_until(lambda: 'moves' in (folder / 'example').read_text(), 30)
        example.kill()
        example.wait()
        assert node.stop() == 0
    yield {topic: recorder.messages(topic) for topic in (MASK, INSTANCES, KEYPOINTS, MOTIONS)}, \
        (folder / 'example').read_text() if heard else '', (folder / 'log').read_text()
    session.node.destroy_publisher(images)
    recorder.close()


def test_the_world_has_the_id_0_in_every_answer_of_a_looped_stream(looped):
    answered = 0
    for message in looped[0][MOTIONS]:
        rows = rows_from_cloud(message)
        if len(rows):
            answered += 1
            assert rows['id'][rows['world'] > 0].tolist() == [0]
    assert answered >= LOOPS * (FRAMES - 10)


def test_masks_and_instances_have_the_stamp_and_the_size_of_their_image(looped, scene):
    stamps = [scene.moment(ros_types(), i).stamp for i in range(FRAMES)] * LOOPS
    for topic, encoding, step in ((MASK, 'mono8', 320), (INSTANCES, '32SC1', 1280)):
        messages = looped[0][topic]
        assert [stamp_of(m.header) for m in messages] == stamps
        assert {(m.width, m.height, m.encoding, m.step) for m in messages} == {
            (320, 240, encoding, step)}
        assert {m.header.frame_id for m in messages} == {'camera'}


def test_the_mask_covers_the_mover_and_the_instances_name_it(looped, scene):
    mask = np.frombuffer(looped[0][MASK][-1].data, np.uint8).reshape(240, 320)
    ids = np.frombuffer(looped[0][INSTANCES][-1].data, np.int32).reshape(240, 320)
    truth = scene.frames[FRAMES - 1].labels > 0
    assert np.sum((ids > 0) & truth) / np.sum((ids > 0) | truth) > 0.6
    assert mask[ids > 0].min() == 255 and 0 < np.mean(mask > 0) < 0.3
    # A body that is missing in the last result may be kept for some frames.
    known = set().union(*(rows_from_cloud(m)['id'].tolist() for m in looped[0][MOTIONS]))
    assert set(np.unique(ids).tolist()) <= known | {i for i in np.unique(ids) if i >= 10**6}


def test_the_example_prints_what_moves(looped):
    assert 'body ' in looped[1] and 'points in [' in looped[1]


@pytest.mark.skipif(vision_messages() is not None, reason='vision_msgs is installed')
def test_without_vision_msgs_the_node_says_once_that_there_are_no_detections(looped):
    assert looped[2].count('vision_msgs is not installed: ~/detections is not published') == 1
