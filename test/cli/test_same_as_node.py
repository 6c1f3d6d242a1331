# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``bag`` and the live node give the same results for the same images."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from gdm_motion_seg.cli.main import main  # noqa: E402, I100
from gdm_motion_seg.io.bags import BagReader  # noqa: E402
from gdm_motion_seg.msgs.clouds import stamp_of  # noqa: E402
from gdm_motion_seg.msgs.reading import rows_from_cloud  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg_tools.ros.record import message_class, Recorder  # noqa: E402
from gdm_motion_seg_tools.ros.session import Session, wait_until  # noqa: E402
from gdm_motion_seg_tools.synth.scene_bags import IMAGE_TOPIC, INFO_TOPIC  # noqa: E402

KEYPOINTS = '/motion_seg/keypoints'
# Both would make the results depend on the load of the machine.
SETTINGS = {'segmentation.time_budget_ms': 0.0, 'adapt': False}
COMPARED = ('u', 'v', 'u_prev', 'v_prev', 'label', 'track_id', 'residual')


def answers_of_the_node(bag, log):
    """Send each image after the result of the previous one, so that none is dropped."""
    names = {'image': IMAGE_TOPIC, 'camera_info': INFO_TOPIC}
    with Session() as session, NodeProcess(SETTINGS, names, log=log) as node:
        recorder = Recorder(session.node, {KEYPOINTS: 'sensor_msgs/msg/PointCloud2'})
        publishers = {topic: session.node.create_publisher(message_class(kind), topic, 10)
                      for topic, kind in bag.topics.items()}
        assert wait_until(
            lambda: all(p.get_subscription_count() for p in publishers.values()), 180)
        assert recorder.wait_for_publishers(180), node.output()
        for topic, _, _, data in bag.raw(*publishers):
            before = len(recorder.records(KEYPOINTS))
            publishers[topic].publish(bytes(data))
            if topic == IMAGE_TOPIC:
                assert recorder.wait_for(
                    lambda: len(recorder.records(KEYPOINTS)) > before, 30), node.output()
        clouds = recorder.messages(KEYPOINTS)
        recorder.close()
    return {stamp_of(cloud.header): rows_from_cloud(cloud) for cloud in clouds}


def test_the_offline_command_and_the_live_node_give_the_same_labels(small_bag, tmp_path):
    folder, _ = small_bag
    out = tmp_path / 'offline'
    assert main(['bag', str(folder), '--out', str(out), '--no-video', '--no-tables',
                 '--set', 'segmentation.time_budget_ms=0']) == 0
    with BagReader(out / 'answers') as bag:
        offline = {stamp_of(m.header): rows_from_cloud(m) for _, _, m in bag.messages(KEYPOINTS)}
    with BagReader(folder) as bag:
        live = answers_of_the_node(bag, tmp_path / 'log')
    assert live.keys() == offline.keys() and len(live) == 16
    for stamp, rows in offline.items():
        for name in COMPARED:
            np.testing.assert_array_equal(live[stamp][name], rows[name])
