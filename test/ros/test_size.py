# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""How much code a robot loads: the node, active, with a subscriber to every output."""

import json
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2  # noqa: E402, I100
from visualization_msgs.msg import MarkerArray  # noqa: E402

from gdm_motion_seg.msgs.results import vision_messages  # noqa: E402, I100
from gdm_motion_seg.msgs.types import ros_types  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg_tools.ros.session import wait_until  # noqa: E402

MOST_LINES = 9500
OUTPUTS = {'keypoints': PointCloud2, 'motions': PointCloud2, 'markers': MarkerArray,
           'debug_image': Image, 'debug_image/compressed': CompressedImage, 'mask': Image,
           'instances': Image}
K = [300.0, 0.0, 160.0, 0.0, 300.0, 120.0, 0.0, 0.0, 1.0]
NEEDLESS = ('gdm_motion_seg.gdm.minimize', 'gdm_motion_seg.gdm.kernels',
            'gdm_motion_seg.gdm.estimator', 'gdm_motion_seg.notebook', 'gdm_motion_seg.io')
"""Modules that the default method and the node's outputs do not need."""


@pytest.fixture(scope='module')
def lines(session, scene, tmp_path_factory):
    """Play a scene into a node with every output subscribed; give the lines of its modules."""
    folder = tmp_path_factory.mktemp('size')
    outputs, heard = dict(OUTPUTS), set()
    if vision := vision_messages():
        outputs['detections'] = vision.Detection2DArray
    subscriptions = [
        session.node.create_subscription(
            kind, f'/motion_seg/{name}', lambda _, name=name: heard.add(name), 5)
        for name, kind in outputs.items()]
    images = session.node.create_publisher(Image, 'image', 1)
    cameras = session.node.create_publisher(CameraInfo, 'camera_info', 1)
    node = NodeProcess({'image_reliability': 'reliable'}, log=folder / 'log')
    node._command[1:3] = [str(Path(__file__).with_name('counted_node.py'))]
    node._environment['LINES'] = str(folder / 'lines')
    with node:
        assert wait_until(images.get_subscription_count, 180), node.output()
        for loop in range(20):
            for index in range(len(scene.frames)):
                moment = scene.moment(ros_types(), index, (1 + loop) * 10**9)
                message = moment.message()
                cameras.publish(CameraInfo(header=message.header, width=320, height=240, k=K))
                images.publish(message)
                wait_until(lambda: heard == set(outputs), 0.1)
            if heard == set(outputs):
                break
        assert heard == set(outputs), node.output()
        assert node.stop() == 0
    for subscription in subscriptions:
        session.node.destroy_subscription(subscription)
    session.node.destroy_publisher(images)
    session.node.destroy_publisher(cameras)
    return json.loads((folder / 'lines').read_text())


def test_the_node_does_not_load_more_lines_than_allowed(lines):
    by_package = {}
    for name, count in lines.items():
        package = '.'.join(name.split('.')[:2])
        by_package[package] = by_package.get(package, 0) + count
    assert sum(lines.values()) <= MOST_LINES, by_package


def test_the_engine_of_the_paper_and_the_offline_parts_are_not_loaded(lines):
    assert 'gdm_motion_seg.ros.node' in lines
    assert [name for name in lines if name.startswith(NEEDLESS)] == []
