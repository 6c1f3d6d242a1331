# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Viewers over DDS: the listener of the page, and the fixed frame of RViz."""

from contextlib import contextmanager
import sys
import threading

import cv2
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from sensor_msgs.msg import Image  # noqa: E402, I100

from gdm_motion_seg.errors import InputError  # noqa: E402
from gdm_motion_seg.geometry.correspondences import Correspondences  # noqa: E402
from gdm_motion_seg.geometry.kind import MotionKind  # noqa: E402
from gdm_motion_seg.msgs.clouds import header_of  # noqa: E402
from gdm_motion_seg.msgs.images import encode_compressed  # noqa: E402
from gdm_motion_seg.msgs.results import keypoints_cloud, motions_cloud  # noqa: E402
from gdm_motion_seg.msgs.types import ros_types  # noqa: E402
from gdm_motion_seg.pipeline import FrameResult  # noqa: E402
from gdm_motion_seg.ros import listener, rviz  # noqa: E402
from gdm_motion_seg.ros.process import dds_here, NodeProcess  # noqa: E402
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation  # noqa: E402
from gdm_motion_seg.view.feeds import node_sights  # noqa: E402
from gdm_motion_seg_tools.ros.session import Session, wait_until  # noqa: E402

NONE = np.full((3, 3), np.nan)
LONG_S = 60.0


@pytest.fixture(scope='module')
def other_end():
    """Return a node of this process in a domain of its own."""
    with Session() as this:
        yield this.node


def messages(stamp, picture):
    """Return the messages of the node for an image with one body."""
    types = ros_types()
    x2 = np.array([[10.0, 10], [30, 10], [10, 30], [30, 30]])
    body = Motion(3, np.arange(4), MotionKind.GENERAL, '', NONE, NONE, 5., .1, 1.,
                  box=(10., 10., 30., 30.), moving=0.8)
    answer = MotionSegmentation(np.full(4, 3), (body,), np.zeros(4), moving=np.full(4, 0.8))
    pair = Correspondences.from_arrays(x2 - (5, 0), x2, (64, 48))
    result = FrameResult(stamp, stamp - 10**9, 5, pair, answer)
    header = header_of(types, stamp, 'left')
    sent = {'keypoints': keypoints_cloud(types, header, result, np.ones((4, 3))),
            'motions': motions_cloud(types, header, result)}
    if picture:
        sent['debug_image/compressed'] = encode_compressed(
            types, header, np.zeros((48, 64, 3), np.uint8))
    return sent


@contextmanager
def publishing(node, send):
    """Call a function repeatedly in a thread, because discovery takes time."""
    done = threading.Event()

    def run():
        while not done.wait(0.05):
            send()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def a_node(node, name):
    """Publish the topics of a node; every other image has a picture."""
    publishers = {topic: node.create_publisher(kind, f'{name}/{topic}', 5)
                  for topic, kind in listener.TOPICS.items()}
    count = iter(range(1, 10**6))

    def send():
        index = next(count)
        for topic, message in messages(index * 10**9, picture=index % 2 == 0).items():
            publishers[topic].publish(message)

    try:
        with publishing(node, send):
            yield
    finally:
        for publisher in publishers.values():
            node.destroy_publisher(publisher)


def test_the_page_can_subscribe_to_a_node(other_end):
    with a_node(other_end, '/robot/motion_seg'), dds_here(), \
            listener.NodeListener('robot/motion_seg') as heard:
        feed = node_sights(heard.frames())
        sights = [next(feed) for _ in range(8)]
    stamps = [sight.moment.stamp for sight in sights]
    assert stamps == sorted(set(stamps))
    pictures = [sight for sight in sights if sight.jpeg()]
    # A picture belongs to the result of its image; some results have no picture.
    assert pictures and all(sight.moment.stamp // 10**9 % 2 == 0 for sight in pictures)
    body, = pictures[-1].moment.bodies
    assert (body.id, body.count, body.speed) == (3, 4, pytest.approx(5.0))
    assert pictures[-1].moment.size == (64, 48)


def test_the_page_shows_the_results_of_a_real_node(session, scene, tmp_path):
    images = session.node.create_publisher(Image, 'image', 1)
    settings = {**scene.settings, 'image_reliability': 'reliable', 'drawing_rate_hz': 1000.0}
    with NodeProcess(settings, log=tmp_path / 'log') as node, dds_here():
        assert wait_until(images.get_subscription_count, 180), node.output()
        with listener.NodeListener('motion_seg') as heard:
            feed, sights, index = node_sights(heard.frames()), [], iter(range(10**6))

            def send():
                # The same frames are repeated; time continues.
                number = next(index)
                moment = scene.moment(ros_types(), number % len(scene.frames))
                message = moment.message()
                message.header = header_of(ros_types(), 10**9 + number * 10**8, 'camera')
                images.publish(message)

            with publishing(session.node, send):
                while sum(bool(sight.jpeg()) for sight in sights[-8:]) < 2 or not any(
                        sight.moment.bodies for sight in sights):
                    sights.append(next(feed))
                    assert len(sights) < 600, node.output()
        assert node.stop() == 0
    session.node.destroy_publisher(images)
    stamps = [sight.moment.stamp for sight in sights]
    assert stamps == sorted(set(stamps))
    pictured = [sight for sight in sights if sight.jpeg()]
    assert {sight.moment.size for sight in pictured} == {(320, 240)}
    picture = cv2.imdecode(np.frombuffer(pictured[-1].jpeg(), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (240, 320, 3)
    bodies = [body for sight in sights for body in sight.moment.bodies]
    assert all(body.id > 0 and 0.5 < body.moving <= 1.0 and body.speed > 0 for body in bodies)
    assert any(sight.moment.world > 50 for sight in sights)


def test_a_missing_node_is_reported_with_one_sentence(other_end, monkeypatch):
    monkeypatch.setattr(listener, 'FIND_S', 0.5)
    with dds_here(), pytest.raises(InputError, match='/no/node/motions has no publisher'):
        listener.NodeListener('/no/node')


@pytest.mark.parametrize('kind', ['Image', 'CompressedImage', 'CameraInfo'])
def test_the_fixed_frame_of_rviz_is_that_of_the_first_image(other_end, kind):
    message = getattr(pytest.importorskip('sensor_msgs.msg'), kind)()
    message.header.frame_id = f'camera_of_{kind}'
    topic = {'Image': f'/{kind}/image', 'CompressedImage': f'/{kind}/image/compressed',
             'CameraInfo': f'/{kind}/camera_info'}[kind]
    publisher = other_end.create_publisher(type(message), topic, 5)
    try:
        with publishing(other_end, lambda: publisher.publish(message)), dds_here():
            assert rviz.first_frame_id(f'/{kind}/image', LONG_S) == f'camera_of_{kind}'
    finally:
        other_end.destroy_publisher(publisher)


def test_rviz_starts_with_the_frame_or_without_if_no_image_comes(monkeypatch, capsys):
    started = []
    monkeypatch.setattr(rviz.os, 'execvp', lambda *words: started.append(words))
    monkeypatch.setattr(sys, 'argv', ['rviz', '/image', 'rviz2', '-d', 'layout.rviz'])
    for frame in ('left', ''):
        monkeypatch.setattr(rviz, 'first_frame_id', lambda topic: frame)
        rviz.main()
    assert started == [('rviz2', ['rviz2', '-f', 'left', '-d', 'layout.rviz']),
                       ('rviz2', ['rviz2', '-d', 'layout.rviz'])]
    assert 'no image on /image' in capsys.readouterr().err
