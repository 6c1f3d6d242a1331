# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Large buffers go back to the system."""

import platform

import pytest

from gdm_motion_seg.ros.heap import return_large_buffers
from gdm_motion_seg_tools.bench.faults import IMAGE_FAULTS

KEYPOINTS = '/motion_seg/keypoints'
TWICE_8K = tuple(fault for fault in IMAGE_FAULTS if fault.name == '8K') * 2
IMAGE_8K_MIB = 7680 * 4320 / 2**20


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_glibc_takes_the_threshold():
    assert return_large_buffers()


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_the_node_keeps_no_memory_of_large_images(session, scene, tmp_path):
    psutil = pytest.importorskip('psutil')
    from gdm_motion_seg.msgs.types import ros_types
    from gdm_motion_seg.ros.process import NodeProcess
    from gdm_motion_seg_tools.ros.record import Recorder
    from gdm_motion_seg_tools.ros.session import wait_until
    from sensor_msgs.msg import Image

    def send(message):
        known = len(recorder.records(KEYPOINTS))
        images.publish(message)
        assert recorder.wait_for(lambda: len(recorder.records(KEYPOINTS)) > known, 180)

    def own_memory():
        # Without the shared memory of the camera's process, of which the pages that were read
        # count, too.
        memory = psutil.Process(node.process.pid).memory_info()
        return (memory.rss - memory.shared) / 2**20

    recorder = Recorder(session.node, {KEYPOINTS: 'sensor_msgs/msg/PointCloud2'})
    images = session.node.create_publisher(Image, 'image', 1)
    settings = {**scene.settings, 'image_reliability': 'reliable'}
    with NodeProcess(settings, log=tmp_path / 'log') as node:
        assert wait_until(lambda: images.get_subscription_count() > 0, 180), node.output()
        assert recorder.wait_for_publishers(180)
        for index in range(10):
            send(scene.moment(ros_types(), index).message())
        before = own_memory()
        for index, fault in zip((10, 12), TWICE_8K):
            for message in fault.make(scene.moment(ros_types(), index)):
                send(message)
            send(scene.moment(ros_types(), index + 1).message())
        # A middleware that kept its buffers would hold at least one of them.
        assert wait_until(lambda: own_memory() < before + IMAGE_8K_MIB / 2, 60), (
            before, own_memory())
    session.node.destroy_publisher(images)
    recorder.close()
