# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""No message of a camera ends the node: each fault by name, with DDS and without."""

from collections import defaultdict
import os
from pathlib import Path
import re
import time

import cv2
import numpy as np
import pytest

from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.msgs.images import encode_compressed
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg.msgs.results import vision_messages
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.diagnostics import Statistics
from gdm_motion_seg.ros.processor import Arrival, DETECTIONS, FrameProcessor, KEYPOINTS
from gdm_motion_seg.settings import with_flat
from gdm_motion_seg_tools.bench.faults import CAMERA_INFO_FAULTS, COMPRESSED_FAULTS, IMAGE_FAULTS

BEFORE = 8
LAST = 23
EVERY_FAULT = [*((fault, 'raw') for fault in IMAGE_FAULTS),
               *((fault, 'compressed') for fault in COMPRESSED_FAULTS),
               *((fault, 'camera_info') for fault in CAMERA_INFO_FAULTS)]
every_fault = pytest.mark.parametrize('fault, topic', EVERY_FAULT,
                                      ids=[fault.name for fault, _ in EVERY_FAULT])


class Collected:
    """Outputs that keep all messages."""

    def __init__(self):
        """Begin with nothing."""
        self.messages = defaultdict(list)

    def wanted(self, name):
        """Subscribe to everything; detections exist only with vision_msgs."""
        return name != DETECTIONS or vision_messages() is not None

    def publish(self, name, message):
        """Keep a message."""
        self.messages[name].append(message)


def good(moment, topic):
    """Return the good message of a moment on the image topic."""
    if topic == 'compressed':
        return encode_compressed(moment.types, moment.header, moment.image, quality=95)
    return moment.message()


def check_finite(cloud):
    """Check that nothing in a cloud is NaN."""
    rows = rows_from_cloud(cloud)
    for name in rows.dtype.names:
        assert np.isfinite(rows[name]).all(), name


@every_fault
def test_through_the_pipeline(scene, fault, topic):
    types, outputs, said = rosbags_types(), Collected(), []
    statistics = Statistics(said.append)
    config = with_flat(NodeConfig(), {
        **scene.settings, 'image_transport': 'compressed' if topic == 'compressed' else 'raw'})
    processor = FrameProcessor(config, types, outputs, statistics, time.time_ns)

    def send(message):
        processor.process(Arrival(message, time.monotonic()))

    for index in range(BEFORE):
        send(good(scene.moment(types, index), topic))
    for message in fault.make(scene.moment(types, BEFORE)):
        processor.take_camera_info(message) if topic == 'camera_info' else send(message)
    for index in range(BEFORE + 1, LAST + 1):
        send(good(scene.moment(types, index), topic))

    snapshot = statistics.snapshot()
    assert 'failed' not in snapshot.counts
    if fault.reason:
        assert any(fault.reason in sentence for sentence in said), said
        assert any(problem for problem in (snapshot.counts.get(kind) for kind in
                   ('refused', 'unanswered', 'camera_info')))
    for cloud in outputs.messages[KEYPOINTS]:
        check_finite(cloud)
    last = outputs.messages[KEYPOINTS][-1]
    assert stamp_of(last.header) == scene.moment(types, LAST).stamp
    assert scene.share_right(rows_from_cloud(last), LAST) > 0.95


class Peer:
    """The camera of a node in another process, and a listener to its results."""

    def __init__(self, session, log, name, topic_type, transport, settings):
        """Start the node under a namespace and find its topics."""
        from sensor_msgs.msg import CameraInfo

        from gdm_motion_seg.ros.process import NodeProcess
        from gdm_motion_seg_tools.ros.record import Recorder
        self.keypoints = f'/{name}/motion_seg/keypoints'
        self.recorder = Recorder(session.node, {self.keypoints: 'sensor_msgs/msg/PointCloud2'})
        suffix = '/compressed' if transport == 'compressed' else ''
        self.images = session.node.create_publisher(topic_type, f'/{name}/image{suffix}', 1)
        self.infos = session.node.create_publisher(CameraInfo, f'/{name}/camera_info', 1)
        self.node = NodeProcess(
            {**settings, 'image_reliability': 'reliable', 'image_transport': transport}, log=log,
            arguments=['-r', f'__ns:=/{name}'])
        self.name = f'/{name}/motion_seg'
        self.start = 10**9

    def statuses(self):
        """Return the values of all diagnostics of the node, oldest first."""
        from gdm_motion_seg_tools.ros.record import DIAGNOSTICS
        return [{pair.key: pair.value for status in message.status for pair in status.values}
                for message in self.recorder.messages(DIAGNOSTICS)
                if message.status[0].hardware_id == self.name]

    def problems(self):
        """Return the number of problems in the diagnostics."""
        values = (self.statuses() or [{}])[-1]
        return sum(int(values.get(kind, 0)) for kind in ('refused', 'unanswered', 'failed'))

    def problems_said(self):
        """Return every last problem in the diagnostics."""
        return {status['last problem'] for status in self.statuses()}

    def settle(self):
        """Wait for diagnostics that cover everything so far."""
        count = len(self.statuses())
        assert self.recorder.wait_for(lambda: len(self.statuses()) > count + 1, 180)

    def answer(self, stamp):
        """Return the keypoints of a stamp; None if there are none yet."""
        return next((cloud for cloud in reversed(self.recorder.messages(self.keypoints))
                     if stamp_of(cloud.header) == stamp), None)

    def answered(self, stamp):
        """
        Wait for the keypoints of a stamp.

        ``send`` may return before: diagnostics with a problem of an earlier image come late.
        """
        assert self.recorder.wait_for(lambda: self.answer(stamp) is not None, 60), (
            self.node.output()[-2000:], self.statuses()[-1:])
        return self.answer(stamp)

    def send(self, message):
        """Send an image and wait until the node has answered it or said what is wrong with it."""
        before, stamp = self.problems(), stamp_of(message.header)
        known = len(self.recorder.records(self.keypoints))
        self.images.publish(message)
        assert self.recorder.wait_for(
            lambda: (len(self.recorder.records(self.keypoints)) > known
                     and self.answer(stamp) is not None) or self.problems() > before, 180), (
            self.node.output()[-2000:], self.statuses()[-1:])


@pytest.fixture(scope='module')
def peers(session, scene, tmp_path_factory):
    """Return the node for either transport, one process for all faults."""
    from sensor_msgs.msg import CompressedImage, Image

    from gdm_motion_seg_tools.ros.session import wait_until
    started = {}

    def peer(transport):
        if transport not in started:
            kind = CompressedImage if transport == 'compressed' else Image
            log = tmp_path_factory.mktemp('node') / 'log'
            one = Peer(session, log, f'{transport}_camera', kind, transport, scene.settings)
            one.node.start()
            started[transport] = one
            assert wait_until(one.images.get_subscription_count, 120), one.node.output()
            assert wait_until(one.infos.get_subscription_count, 180), one.node.output()
            assert one.recorder.wait_for_publishers(60), one.node.output()
        return started[transport]

    yield peer
    codes = [one.node.stop() for one in started.values()]
    assert codes == [0] * len(codes)


@every_fault
def test_over_dds(peers, scene, fault, topic):
    from gdm_motion_seg.msgs.types import ros_types
    types = ros_types()
    peer = peers('compressed' if topic == 'compressed' else 'raw')
    peer.recorder.clear()
    # An hour after the previous fault: the node restarts tracking.
    peer.start += 3600 * 10**9

    def moment(index):
        return scene.moment(types, index, peer.start)

    for index in range(BEFORE):
        peer.send(good(moment(index), topic))
    for message in fault.make(moment(BEFORE)):
        if topic == 'camera_info':
            peer.infos.publish(message)
        else:
            peer.send(message)
    peer.settle()
    for index in range(BEFORE + 1, LAST + 1):
        peer.send(good(moment(index), topic))
    last = peer.answered(moment(LAST).stamp)
    check_finite(last)
    assert scene.share_right(rows_from_cloud(last), LAST) > 0.95
    peer.settle()
    said = peer.problems_said()
    assert any(fault.reason in sentence for sentence in said), said
    assert fault.reason in peer.node.output()
    assert peer.node.alive


def damaged_files(scene, count, seed):
    """Yield frames as JPEG or PNG files that were damaged at random."""
    rng = np.random.default_rng(seed)
    flags = (('.jpg', []), ('.jpg', [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]), ('.png', []))
    for i in range(count):
        suffix, options = flags[i % len(flags)]
        data = bytearray(cv2.imencode(suffix, scene.frames[i % LAST].image, options)[1].tobytes())
        for _ in range(int(rng.integers(1, 6))):
            # Half of the damage is where sizes and tables are.
            at = int(rng.integers(len(data) if rng.random() < 0.5 else min(700, len(data))))
            kind = rng.integers(4)
            if kind == 0:
                data[at] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                data[at:at + 2] = b'\xff' + rng.bytes(1)
            elif kind == 2:
                data[at:at] = rng.bytes(int(rng.integers(1, 20)))
            else:
                del data[at:at + int(rng.integers(1, 20))]
        yield bytes(data)


def peak_memory(pid):
    """Return the peak memory of a process in bytes."""
    status = Path(f'/proc/{pid}/status').read_text(encoding='utf-8')
    return 1024 * int(re.search(r'VmHWM:\s*(\d+) kB', status)[1])


def test_files_damaged_at_random_go_through_the_real_decoder_of_the_node(peers, scene):
    from gdm_motion_seg.msgs.types import ros_types
    peer, types = peers('compressed'), ros_types()
    before = peak_memory(peer.node.process.pid)
    seed = int(os.environ.get('GDM_MOTION_SEG_FUZZ_SEED', '0'))
    count = int(os.environ.get('GDM_MOTION_SEG_FUZZ_DDS', '45'))
    for i, data in enumerate(damaged_files(scene, count, seed)):
        header = scene.moment(types, i % LAST, peer.start + (i + 1) * 3600 * 10**9).header
        peer.send(types.CompressedImage(header=header, format='jpeg', data=types.octets(data)))
    peer.start += (count + 1) * 3600 * 10**9
    peer.recorder.clear()
    for index in range(BEFORE):
        peer.send(good(scene.moment(types, index, peer.start), 'compressed'))
    assert len(rows_from_cloud(peer.answered(scene.moment(types, BEFORE - 1, peer.start).stamp)))
    # A size that only the decoder saw would show here.
    assert peak_memory(peer.node.process.pid) - before < 200 * 2**20
