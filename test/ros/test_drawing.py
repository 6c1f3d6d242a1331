# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Markers and pictures are made in a separate thread that delays no result."""

from dataclasses import replace
import threading
import time
import weakref

import numpy as np
import pytest

from gdm_motion_seg.msgs.clouds import header_of, stamp_of
from gdm_motion_seg.msgs.images import encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.ros import processor as processor_module
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.diagnostics import Statistics
from gdm_motion_seg.ros.processor import (
    DEBUG_COMPRESSED, DEBUG_IMAGE, DRAWN, FrameProcessor, KEYPOINTS, MARKERS, pause)

LONG_S = 60.0
PERIOD_NS = 33_000_000
FAST = replace(NodeConfig(), drawing_rate_hz=1000.0)


class Listener:
    """Outputs that keep what is published; drawings can be blocked."""

    def __init__(self, *names):
        self.names = names
        self.published = []
        self.free = threading.Event()
        self.free.set()
        self.busy = threading.Event()
        self._changed = threading.Condition()

    def wanted(self, name):
        return name in self.names

    def publish(self, name, message):
        if name in DRAWN:
            self.busy.set()
            assert self.free.wait(LONG_S)
        header = message.markers[0].header if name == MARKERS else message.header
        with self._changed:
            self.published.append((name, stamp_of(header) // PERIOD_NS, header.frame_id))
            self._changed.notify_all()

    def wait_for(self, *wanted):
        with self._changed:
            assert self._changed.wait_for(lambda: set(wanted) <= set(self.published), LONG_S)

    def drawn(self):
        return [(name, number) for name, number, _ in self.published if name in DRAWN]


def image(number):
    """Return the message of a grey image."""
    header = header_of(rosbags_types(), number * PERIOD_NS, 'left')
    return encode_image(rosbags_types(), header, np.zeros((48, 64), np.uint8))


@pytest.fixture
def start():
    """Return a function that starts a processor, which is stopped at the end."""
    made = []

    def make(outputs, config=FAST, warn=print):
        made.append(FrameProcessor(config, rosbags_types(), outputs, Statistics(warn),
                                   time.time_ns))
        made[-1].start()
        return made[-1]

    yield make
    for processor in made:
        assert processor.stop(LONG_S)


def test_every_subscribed_output_is_published_with_stamp_and_frame(start):
    outputs = Listener(*DRAWN)
    start(outputs).put(image(5))
    outputs.wait_for((DEBUG_COMPRESSED, 5, 'left'))
    assert outputs.published == [(MARKERS, 5, 'left'), (DEBUG_IMAGE, 5, 'left'),
                                 (DEBUG_COMPRESSED, 5, 'left')]


def test_a_slow_viewer_never_delays_a_result_and_gets_the_newest_frame(start):
    outputs = Listener(KEYPOINTS, DEBUG_IMAGE)
    processor = start(outputs)
    outputs.free.clear()
    processor.put(image(1))
    assert outputs.busy.wait(LONG_S)
    # If results waited for the viewer, this loop would not end.
    for number in range(2, 9):
        processor.put(image(number))
        outputs.wait_for((KEYPOINTS, number, 'left'))
    processor.put(image(9))
    outputs.wait_for((KEYPOINTS, 9, 'left'))
    outputs.free.set()
    outputs.wait_for((DEBUG_IMAGE, 9, 'left'))
    # The frame before may be taken just before the last one replaces it.
    assert outputs.drawn() in ([(DEBUG_IMAGE, 1), (DEBUG_IMAGE, 9)],
                               [(DEBUG_IMAGE, 1), (DEBUG_IMAGE, 8), (DEBUG_IMAGE, 9)])


def test_nothing_is_drawn_without_a_subscriber(start):
    outputs = Listener(KEYPOINTS)
    processor = start(outputs)
    processor.put(image(1))
    outputs.wait_for((KEYPOINTS, 1, 'left'))
    outputs.names = (DEBUG_IMAGE,)
    processor.put(image(2))
    outputs.wait_for((DEBUG_IMAGE, 2, 'left'))
    assert outputs.drawn() == [(DEBUG_IMAGE, 2)]


def test_the_rate_is_limited_and_stopping_does_not_wait_for_the_period(start):
    outputs = Listener(KEYPOINTS, DEBUG_IMAGE)
    processor = start(outputs, replace(NodeConfig(), drawing_rate_hz=0.1))
    processor.put(image(1))
    outputs.wait_for((DEBUG_IMAGE, 1, 'left'))
    processor.put(image(2))
    outputs.wait_for((KEYPOINTS, 2, 'left'))
    assert processor.stop(5.0)
    assert outputs.drawn() == [(DEBUG_IMAGE, 1)]


def test_no_image_is_kept_while_the_drawing_rests(start, monkeypatch):
    outputs, drawn = Listener(DEBUG_IMAGE), []
    processor = start(outputs, replace(NodeConfig(), drawing_rate_hz=0.1))
    draw = processor.draw

    def remember(scene):
        drawn.append(weakref.ref(scene))
        draw(scene)

    monkeypatch.setattr(processor, 'draw', remember)
    processor.put(image(1))
    outputs.wait_for((DEBUG_IMAGE, 1, 'left'))
    deadline = time.monotonic() + LONG_S
    while drawn[0]() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(drawn) == 1 and drawn[0]() is None


def test_on_a_slow_machine_there_are_fewer_pictures_and_not_fewer_results():
    assert pause(0.005, 10.0) == pytest.approx(0.095)
    assert pause(0.1, 10.0) == pytest.approx(0.4)


def test_an_error_is_reported_and_the_next_frame_is_drawn(start, monkeypatch):
    outputs, said, reported = Listener(DEBUG_IMAGE), [], threading.Event()

    def report(sentence):
        said.append(sentence)
        reported.set()

    processor = start(outputs, warn=report)
    with monkeypatch.context() as patch:
        patch.setattr(processor_module, 'draw_overlay', lambda *_: np.zeros(1)[2])
        processor.put(image(1))
        assert reported.wait(LONG_S)
    assert 'a frame could not be drawn: IndexError' in said[0]
    processor.put(image(2))
    outputs.wait_for((DEBUG_IMAGE, 2, 'left'))
    assert outputs.drawn() == [(DEBUG_IMAGE, 2)]
