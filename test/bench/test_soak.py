# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The soak test: injection of faults, figures, and a short run."""

import argparse
from collections import Counter
import mmap
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.io.bags import CAMERA_INFO, COMPRESSED, IMAGE, typestore
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed, encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.bench import injection, soak
from gdm_motion_seg_tools.bench.faults import CAMERA_INFO_FAULTS, COMPRESSED_FAULTS, IMAGE_FAULTS
from gdm_motion_seg_tools.bench.injection import FaultInjector, NOTHING
from gdm_motion_seg_tools.bench.soak import (
    resident, Sample, summarise, Totals, waiting_threads)
from gdm_motion_seg_tools.synth.scene_bags import camera_info, SceneOptions

PERIOD = 33_333_333


ACTIONS = {'reset': lambda: None}


def test_an_action_that_fails_is_counted(monkeypatch):
    def fail():
        raise GdmMotionSegError('no answer')

    monkeypatch.setattr(injection, 'GOOD_FRAMES', (2, 4))
    monkeypatch.setattr(injection, 'FAULTS', {'raw': {}})
    injector = FaultInjector('raw', 'image', PERIOD, lambda _: (True, True),
                             np.random.default_rng(0), {'reset': fail})
    for topic, raw in stream('raw', 5):
        assert injector(topic, raw) == [raw]
    assert injector.failed_actions == ['reset: no answer']


def stream(transport, count):
    """Yield topic and bytes of a short bag with camera_info."""
    types, store = rosbags_types(), typestore()
    rng = np.random.default_rng(0)
    for i in range(count):
        image = rng.integers(0, 255, (96, 128, 3), np.uint8)
        header = header_of(types, 10**9 + i * PERIOD, 'camera')
        encode, kind = (encode_image, IMAGE) if transport == 'raw' else (encode_compressed,
                                                                         COMPRESSED)
        yield 'image', bytes(store.serialize_cdr(encode(types, header, image), kind))
        info = camera_info(types, header, np.eye(3), (128, 96))
        yield 'info', bytes(store.serialize_cdr(info, CAMERA_INFO))


def injected(transport, count, recovered=True, seed=0):
    """Play a stream; return what was published, and the aftermaths."""
    injector = FaultInjector(transport, 'image', PERIOD, lambda aftermath: (recovered, recovered),
                             np.random.default_rng(seed), ACTIONS)
    published = [(raw, injector(topic, raw)) for topic, raw in stream(transport, count)]
    finished = []
    while not injector.finished.empty():
        finished.append(injector.finished.get())
    return published, finished


@pytest.mark.parametrize('transport, faults', [
    ('raw', IMAGE_FAULTS + CAMERA_INFO_FAULTS),
    ('compressed', COMPRESSED_FAULTS + CAMERA_INFO_FAULTS)])
def test_every_fault_comes_once_in_a_round(monkeypatch, transport, faults):
    monkeypatch.setattr(injection, 'GOOD_FRAMES', (2, 4))
    finished = injected(transport, 600)[1]
    assert finished[0].fault == NOTHING
    expected = Counter([*(fault.name for fault in faults), *ACTIONS])
    first_round = Counter(aftermath.fault for aftermath in finished[1:1 + expected.total()])
    assert first_round == expected


def test_good_frames_pass_unchanged_and_are_known_by_their_stamps(monkeypatch):
    monkeypatch.setattr(injection, 'GOOD_FRAMES', (2, 4))
    published, finished = injected('raw', 300)
    unchanged = sum(messages == [raw] for raw, messages in published[::2])
    assert sum(len(aftermath.stamps) for aftermath in finished) <= unchanged < 300
    assert all(2 <= len(aftermath.stamps) <= 4 for aftermath in finished)


def test_the_same_seed_brings_the_same_faults(monkeypatch):
    monkeypatch.setattr(injection, 'GOOD_FRAMES', (2, 4))
    assert injected('raw', 200)[0] == injected('raw', 200)[0]
    assert injected('raw', 200)[0] != injected('raw', 200, seed=1)[0]


def test_the_next_fault_waits_for_a_right_answer(monkeypatch):
    monkeypatch.setattr(injection, 'GOOD_FRAMES', (2, 4))
    assert injected('raw', 200, recovered=False)[1] == []


def test_memory_counts_from_the_end_of_the_first_minute():
    def rss(t):
        return 300.0 + min(t, 60.0) + 0.1 * max(t - 60.0, 0.0)
    samples = [Sample(1000.0 + t, rss(t), rss(t) / 2, 20 + (t > 30), camera_mb=t)
               for t in np.arange(0.0, 161.0)]
    rows = [{'fault': NOTHING, 'answered': 0, 'right': False},
            {'fault': 'black', 'answered': 3, 'right': True},
            {'fault': 'white', 'answered': 0, 'right': False}]
    figures = summarise([samples, samples[:1] * 100], rows, 1000.0)
    assert figures['rss_growth_mb'] == pytest.approx(14.0, abs=1.0)
    assert figures['private_growth_mb'] == pytest.approx(7.0, abs=0.5)
    assert figures['camera_pages_growth_mb'] == pytest.approx(100.0)
    assert figures['rss_start_mb'] == 300.0
    assert figures['threads_leaked'] == 1.0
    assert (figures['faults'], figures['answered_after_fault']) == (2.0, 0.5)


def test_threads_that_run_count_as_load():
    child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        deadline = time.monotonic() + 20.0
        while waiting_threads() < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert waiting_threads() >= 1
    finally:
        child.kill()
        child.wait()


def test_counters_that_begin_at_zero_again_are_added_up():
    totals = Totals()
    for received, answered, failed in ((10, 8, 1), (20, 9, 1), (3, 0, 0), (5, 2, 1), (5, 2, 1)):
        totals.add({'received': received, 'answered': answered, 'failed': failed})
    assert totals.sums == {'received': 25, 'answered': 11, 'failed': 2}


def test_pages_of_a_mapped_file_count_as_soon_as_they_are_used(tmp_path):
    file = tmp_path / 'file'
    file.write_bytes(bytes(2**20))
    with file.open('rb') as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert resident(os.getpid(), {tmp_path / 'other'}) == 0
        assert sum(mapped[::4096]) == 0
        assert resident(os.getpid(), {file}) == 2**20


def test_the_node_survives_a_short_soak(monkeypatch):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    small = SceneOptions(scene='small_mover', n_frames=60, size=(320, 240))
    monkeypatch.setattr(soak, 'OPTIONS', {'raw': small})
    report = soak.run(argparse.Namespace(minutes=0.15))
    figures = report['summary']['gdm']
    assert (figures['crashes'], figures['failed']) == (0.0, 0.0)
    assert figures['answered_after_fault'] == 1.0
    assert figures['received'] >= figures['answered'] > 0.0 and figures['load_own'] < 20.0
    assert figures['faults'] >= 1.0 and figures['rss_start_mb'] > 0.0
    assert {row['camera'] for row in report['rows']} == {'raw'}
