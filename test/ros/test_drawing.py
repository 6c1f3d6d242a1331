# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Markers and pictures are made in a separate thread that delays no result."""

from dataclasses import replace
import threading

import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.msgs.types import rosbags_types
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.drawing import (DEBUG_COMPRESSED, DEBUG_IMAGE, Drawing, DRAWN, MARKERS,
                                        pause, Scene)
from gdm_motion_seg.segmentation.result import MotionSegmentation

LONG_S = 60.0
FAST = replace(NodeConfig(), drawing_rate_hz=1000.0)


class Listener:
    """Outputs that keep what is published, and can be blocked."""

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
        self.busy.set()
        assert self.free.wait(LONG_S)
        header = message.markers[0].header if name == MARKERS else message.header
        with self._changed:
            self.published.append((name, stamp_of(header), header.frame_id))
            self._changed.notify_all()

    def wait_for(self, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.published) >= count, LONG_S)


def scene(stamp):
    points = Correspondences.from_arrays([], [], (64, 48))
    result = FrameResult(stamp, stamp, 0, points, MotionSegmentation.empty(0, ''))
    return Scene(np.zeros((48, 64, 3), np.uint8), result, Camera.guess((64, 48)), 'left')


@pytest.fixture
def start():
    """Return a function that starts a drawing, which is stopped at the end."""
    made = []

    def make(outputs, config=FAST, on_error=None):
        made.append(Drawing(rosbags_types(), outputs, lambda: config, on_error or made.append))
        return made[-1]

    yield make
    for drawing in [item for item in made if isinstance(item, Drawing)]:
        assert drawing.stop(LONG_S)
    assert all(isinstance(item, Drawing) for item in made), made


def test_every_subscribed_output_is_published_with_stamp_and_frame(start):
    outputs = Listener(*DRAWN)
    start(outputs).put(scene(5))
    outputs.wait_for(3)
    assert outputs.published == [(MARKERS, 5, 'left'), (DEBUG_IMAGE, 5, 'left'),
                                 (DEBUG_COMPRESSED, 5, 'left')]


def test_a_slow_viewer_never_delays_a_result_and_gets_the_newest_frame(start):
    outputs = Listener(DEBUG_IMAGE)
    drawing = start(outputs)
    outputs.free.clear()
    drawing.put(scene(1))
    assert outputs.busy.wait(LONG_S)
    # If put waited for the viewer, this loop would not end.
    for stamp in range(2, 50):
        drawing.put(scene(stamp))
    outputs.free.set()
    outputs.wait_for(2)
    assert [stamp for _, stamp, _ in outputs.published] == [1, 49]


def test_nothing_is_drawn_without_a_subscriber(start):
    outputs = Listener()
    drawing = start(outputs)
    drawing.put(scene(1))
    outputs.names = (DEBUG_IMAGE,)
    drawing.put(scene(2))
    outputs.wait_for(1)
    assert [stamp for _, stamp, _ in outputs.published] == [2]


def test_the_rate_is_limited_and_stopping_does_not_wait_for_the_period():
    outputs = Listener(DEBUG_IMAGE)
    slow = replace(NodeConfig(), drawing_rate_hz=0.1)
    drawing = Drawing(rosbags_types(), outputs, lambda: slow, pytest.fail)
    drawing.put(scene(1))
    outputs.wait_for(1)
    drawing.put(scene(2))
    assert drawing.stop(5.0)
    assert [stamp for _, stamp, _ in outputs.published] == [1]


def test_on_a_slow_machine_there_are_fewer_pictures_and_not_fewer_results():
    assert pause(0.005, 10.0) == pytest.approx(0.095)
    assert pause(0.1, 10.0) == pytest.approx(0.4)


def test_an_error_is_reported_and_the_next_frame_is_drawn(start):
    outputs, errors, reported = Listener(DEBUG_IMAGE), [], threading.Event()

    def report(error):
        errors.append(error)
        reported.set()

    drawing = start(outputs, on_error=report)
    drawing.put(replace(scene(1), image=None))
    assert reported.wait(LONG_S)
    drawing.put(scene(2))
    outputs.wait_for(1)
    assert [stamp for _, stamp, _ in outputs.published] == [2] and len(errors) == 1
