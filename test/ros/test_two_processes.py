# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node in a process of its own, images in and keypoints out over real DDS."""

from pathlib import Path
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from gdm_motion_seg.msgs.clouds import header_of, rows_from_cloud, stamp_of  # noqa: E402, I100
from gdm_motion_seg.msgs.images import encode_image  # noqa: E402
from gdm_motion_seg.msgs.types import ros_types  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg.ros.record import Recorder  # noqa: E402
from gdm_motion_seg.ros.session import wait_until  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from scene_images import grey_frame  # noqa: E402, I100

KEYPOINTS = '/motion_seg/keypoints'
PERIOD = 33_333_333


def test_keypoints_come_out_for_images_that_go_in(session, tmp_path):
    types = ros_types()
    recorder = Recorder(session.node, {KEYPOINTS: 'sensor_msgs/msg/PointCloud2'})
    publisher = session.node.create_publisher(types.Image, 'image', 1)
    with NodeProcess({'tracking.frame_gap': 2}, log=tmp_path / 'log') as node:
        assert wait_until(publisher.get_subscription_count, 60), node.output()
        assert recorder.wait_for_publishers(20), node.output()
        for index in range(6):
            header = header_of(types, (100 + index) * PERIOD, 'camera')
            publisher.publish(encode_image(types, header, grey_frame(index)))
            assert recorder.wait_for(lambda: len(recorder.records(KEYPOINTS)) > index, 20), \
                node.output()
        assert node.stop() == 0, node.output()
    clouds = recorder.messages(KEYPOINTS)
    assert [stamp_of(cloud.header) for cloud in clouds] == [(100 + i) * PERIOD for i in range(6)]
    assert {cloud.header.frame_id for cloud in clouds} == {'camera'}
    rows = rows_from_cloud(clouds[-1])
    assert len(rows) > 50
    assert np.isfinite(rows['x']).all() and (rows['z'] == 1).all()
