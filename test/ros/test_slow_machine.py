# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A node that is too slow for its camera, over DDS: it reduces the tracks."""

from contextlib import contextmanager
from pathlib import Path
import threading

import cv2
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from rclpy.qos import qos_profile_sensor_data  # noqa: E402, I100
from sensor_msgs.msg import Image  # noqa: E402

from gdm_motion_seg.msgs.clouds import header_of  # noqa: E402, I100
from gdm_motion_seg.msgs.images import encode_image  # noqa: E402
from gdm_motion_seg.msgs.types import ros_types  # noqa: E402
from gdm_motion_seg.ros.adaptation import FLOOR_TRACKS  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg_tools.ros.record import DIAGNOSTICS, Recorder  # noqa: E402

PERIOD = 0.1
KEYPOINTS = '/motion_seg/keypoints'
SHARE = 'share of tracks and effort'


@contextmanager
def camera(session):
    """Publish images of moving noise ten times a second."""
    noise = np.random.default_rng(0).integers(0, 255, (120, 200), np.uint8)
    large = cv2.resize(noise, None, fx=4, fy=4, interpolation=cv2.INTER_CUBIC)
    publisher = session.node.create_publisher(Image, 'image', qos_profile_sensor_data)
    stop = threading.Event()

    def play():
        index = 0
        while not stop.wait(PERIOD):
            header = header_of(ros_types(), 10**9 + round(index * PERIOD * 1e9), 'camera')
            left = abs(index % 200 - 100)
            publisher.publish(encode_image(ros_types(), header, large[:, left:left + 640]))
            index += 1

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        session.node.destroy_publisher(publisher)


def values(recorder):
    """Return the values of the last diagnostics."""
    message = recorder.last(DIAGNOSTICS)
    return {pair.key: pair.value for status in (message.status if message else ())
            for pair in status.values}


@pytest.mark.parametrize('adapt', [True, False])
def test_a_node_that_is_too_slow_uses_fewer_tracks_unless_adapt_is_off(session, tmp_path, adapt):
    settings = {'adapt': adapt, 'diagnostics_period_s': 0.1, 'tracking.frame_gap': 1}
    node = NodeProcess(settings, log=tmp_path / 'log')
    node._command[1:3] = [str(Path(__file__).with_name('slow_node.py'))]
    recorder = Recorder(session.node, {KEYPOINTS: 'sensor_msgs/msg/PointCloud2'})
    with camera(session), node:
        assert recorder.wait_for(lambda: int(values(recorder).get('answered', '0')) > 3, 180), (
            node.output(), values(recorder))
        if adapt:
            assert recorder.wait_for(lambda: float(values(recorder)[SHARE]) < 0.7, 60), (
                values(recorder))
            assert recorder.wait_for(
                lambda: 0 < recorder.messages(KEYPOINTS)[-1].width <= 0.7 * 1500, 30)
            assert float(values(recorder)[SHARE]) >= FLOOR_TRACKS / 1500 - 0.01
        else:
            assert recorder.wait_for(lambda: int(values(recorder)['answered']) > 9, 60)
            assert int(values(recorder)['dropped']) > 0
            assert values(recorder)[SHARE] == '1.00'
    recorder.close()
