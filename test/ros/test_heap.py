# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Freed memory goes back to the system."""

import platform
import subprocess
import sys

import pytest

from gdm_motion_seg.heap import ARENAS, keep_frame_buffers
from gdm_motion_seg_tools.bench.faults import IMAGE_FAULTS

KEYPOINTS = '/motion_seg/keypoints'
TWICE_8K = tuple(fault for fault in IMAGE_FAULTS if fault.name == '8K') * 2
IMAGE_8K_MIB = 7680 * 4320 / 2**20


COUNT_ARENAS = """
import ctypes, sys, tempfile, threading
if sys.argv[1] == 'set':
    from gdm_motion_seg.heap import share_heaps
    share_heaps()
libc, here = ctypes.CDLL(None), threading.Barrier(8)
libc.fopen.restype = ctypes.c_void_p
def allocate():
    here.wait()
    libc.malloc(100_000)
    here.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with tempfile.NamedTemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b'w'))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(file.read().count(b'<heap nr='))
"""
"""Prints how many heaps glibc has after eight threads have allocated memory at once."""


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_glibc_accepts_the_thresholds():
    assert keep_frame_buffers()


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_threads_share_a_few_heaps():
    counts = {how: int(subprocess.run([sys.executable, '-c', COUNT_ARENAS, how], check=True,
                                      stdout=subprocess.PIPE, timeout=60).stdout)
              for how in ('set', 'not set')}
    assert counts['set'] <= ARENAS < counts['not set']


RELEASE = """
import ctypes, sys
from gdm_motion_seg.heap import release_free_memory
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def rss_mib():
    return int(open('/proc/self/statm').read().split()[1]) * 4096 / 2**20
blocks = [libc.malloc(100_000) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
for index in range(999):
    libc.free(ctypes.c_void_p(blocks[index]))
before = rss_mib()
release_free_memory()
print(before - rss_mib())
"""
"""Prints by how many MiB a process shrinks; its last block keeps the end of the heap in use."""


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_free_memory_between_used_blocks_is_returned_to_the_system():
    done = subprocess.run([sys.executable, '-c', RELEASE], check=True, stdout=subprocess.PIPE,
                          timeout=60)
    assert float(done.stdout) > 80


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
        # Without the shared memory of the camera process: pages of it that were read
        # count as RSS.
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
        # If the middleware kept its buffers, at least one of them would remain.
        assert wait_until(lambda: own_memory() < before + IMAGE_8K_MIB / 2, 60), (
            before, own_memory())
    session.node.destroy_publisher(images)
    recorder.close()
