# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parts of the node without ROS: worker, measurements, health, processor."""

import os
import threading
import time
from types import SimpleNamespace
import weakref

import numpy as np
import pytest

from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.ros import processor as processor_module
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.diagnostics import (
    ERROR, input_health, OK, output_health, shared_memory_problem, Source, Statistics, WARN)
from gdm_motion_seg.ros.processor import Arrival, FrameProcessor, KEYPOINTS
from gdm_motion_seg.ros.worker import NewestWins
from gdm_motion_seg.settings import with_flat

WAIT_S = 20


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        """Begin at 100 s."""
        self.now = 100.0

    def __call__(self):
        """Tell the time."""
        return self.now


def soon(condition):
    """Wait for a condition; returns whether it became true in time."""
    deadline = time.monotonic() + WAIT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


def test_the_newest_item_replaces_older_ones_which_are_dropped():
    begun, go, done = threading.Event(), threading.Event(), []

    def handle(item):
        begun.set()
        assert go.wait(WAIT_S)
        done.append(item)

    worker = NewestWins(handle, done.append)
    assert worker.put(1) is False
    assert begun.wait(WAIT_S)
    assert [worker.put(item) for item in (2, 3, 4)] == [False, True, True]
    go.set()
    assert soon(lambda: len(done) == 2)
    assert worker.stop(WAIT_S)
    assert done == [1, 4]


def test_a_worker_that_rests_keeps_nothing_and_takes_the_newest_item_after_it():
    class Item:
        pass

    handled, rests = [], iter([1.0, WAIT_S])

    def handle(item):
        handled.append(weakref.ref(item))
        return next(rests)

    worker = NewestWins(handle, print)
    worker.put(Item())
    assert soon(lambda: handled and handled[0]() is None), 'an image may be large'
    newest = Item()
    assert [worker.put(item) for item in (Item(), newest)] == [False, True]
    assert soon(lambda: len(handled) == 2) and handled[1]() is newest
    assert worker.stop(WAIT_S / 2), 'a stop does not wait for the end of the rest'


def test_a_worker_continues_after_an_exception():
    seen, finished = [], threading.Event()

    def handle(item):
        if item == 'bad':
            raise ValueError('no')
        finished.set()

    worker = NewestWins(handle, seen.append)
    worker.put('bad')
    assert soon(lambda: seen)
    worker.put('good')
    assert finished.wait(WAIT_S)
    assert [str(error) for error in seen] == ['no']
    assert worker.stop(WAIT_S)


def test_a_worker_that_hangs_is_reported_and_does_not_block_the_stop():
    begun, release = threading.Event(), threading.Event()

    def handle(item):
        begun.set()
        release.wait(WAIT_S)

    worker = NewestWins(handle, print)
    worker.put(1)
    assert begun.wait(WAIT_S)
    assert worker.stop(0.05) is False
    release.set()
    assert worker.stop(WAIT_S)


def test_a_call_that_hangs_is_abandoned_and_another_thread_continues():
    begun, release, done = threading.Event(), threading.Event(), []

    def handle(item):
        if item == 'hangs':
            begun.set()
            assert release.wait(WAIT_S)
        done.append((item, threading.current_thread()))

    worker = NewestWins(handle, print)
    worker.put('hangs')
    assert begun.wait(WAIT_S)
    worker.abandon()
    worker.put('next')
    assert soon(lambda: [item for item, _ in done] == ['next'])
    release.set()
    assert soon(lambda: len(done) == 2)
    old = done[1][1]
    old.join(WAIT_S)
    assert not old.is_alive(), 'the old thread ends with its call'
    worker.put('last')
    assert soon(lambda: done[-1] == ('last', done[0][1]))
    assert worker.stop(WAIT_S)


def test_rates_and_percentiles_are_of_the_recent_past():
    clock = Clock()
    statistics = Statistics(clock=clock)
    for _ in range(1000):
        clock.now += 0.1
        statistics.received(dropped=False)
        statistics.answered(0.02, 0.03, 5, 2, '')
    snapshot = statistics.snapshot()
    assert snapshot.input_rate == pytest.approx(10.0)
    assert snapshot.latency == (pytest.approx(0.02), pytest.approx(0.02))
    assert snapshot.waiting == 0.0
    clock.now += 100
    assert statistics.snapshot().input_rate < 3


def test_the_age_is_unknown_if_the_clocks_differ():
    statistics = Statistics()
    statistics.answered(0.01, 1e9, 1, 1, '')
    assert statistics.snapshot().age == (0.0, 0.0)


def test_the_watchdog_reports_an_error_if_images_have_no_results():
    clock = Clock()
    statistics = Statistics(clock=clock)
    statistics.received(dropped=False)
    statistics.problem('failed', 'out of luck')
    clock.now += 3.0
    statistics.received(dropped=False)
    assert output_health('n', 'active', statistics.snapshot(), 5.0, {}).level == WARN
    clock.now += 3.0
    health = output_health('n', 'active', statistics.snapshot(), 5.0, {})
    assert health.level == ERROR
    assert health.message == 'no frame answered for 6 s while images come: out of luck'
    statistics.answered(0.1, 0.1, 10, 2, '')
    health = output_health('n', 'active', statistics.snapshot(), 5.0, {'keypoints': 1})
    assert (health.level, health.message) == (OK, '2 motions of 10 tracks')
    assert health.values['listeners of keypoints'] == '1'


@pytest.mark.parametrize('state, active_for, source, level, message', [
    ('inactive', 0.0, Source('/i', 0), OK, 'not listening: the node is inactive'),
    ('active', 1.0, Source('/i', 0), OK, 'waiting for the first image on /i'),
    ('active', 9.0, Source('/i', 0), WARN, '/i has no publisher'),
    ('active', 9.0, Source('/i', 2), WARN, 'no image on /i for 9 s, although it has a publisher'),
    ('active', 9.0, Source('/i', 0, '', ('/a', '/b')), WARN,
     '/i has no publisher; there are images on /a, /b'),
    ('active', 1.0, Source('/i', 1, 'bad match'), ERROR, 'bad match'),
])
def test_the_diagnostics_report_problems_of_the_images(state, active_for, source, level, message):
    health = input_health('n', state, active_for, source, Statistics().snapshot(), 5.0)
    assert (health.level, health.message) == (level, message)


def test_too_little_shared_memory_is_reported(monkeypatch):
    def space(free):
        return lambda folder: SimpleNamespace(f_bavail=free, f_frsize=1)

    monkeypatch.setattr(os, 'statvfs', space(200_000))
    assert '/dev/shm has only 0.2 MiB free' in shared_memory_problem()
    monkeypatch.setattr(os, 'statvfs', space(64 * 2**20))
    assert shared_memory_problem() == ''
    monkeypatch.undo()
    assert shared_memory_problem('/nowhere') == ''


def test_a_problem_is_logged_once_per_period_and_another_one_at_once():
    clock, said = Clock(), []
    statistics = Statistics(said.append, clock)
    for i in range(3):
        statistics.problem('failed', f'took {i} s')
    statistics.problem('failed', 'something else')
    assert said == ['took 0 s', 'something else']
    for letter in 'abcdefghijkl':
        statistics.problem('refused', f'ever new: {letter}')
    assert len(said) == 10, 'a sender cannot flood the log'
    clock.now += 5.0
    statistics.problem('failed', 'took 9 s')
    assert said[-1] == 'took 9 s' and statistics.snapshot().counts['failed'] == 5


class Nowhere:
    """Outputs that keep the names of what is sent."""

    def __init__(self):
        """Begin with nothing."""
        self.names = []

    def wanted(self, name):
        """Want the keypoints."""
        return name == KEYPOINTS

    def publish(self, name, message):
        """Keep the name."""
        self.names.append(name)


def processor_with(scene, **changes):
    """Return a processor, its statistics, outputs and log."""
    config = with_flat(NodeConfig(), {**scene.settings, **changes})
    outputs, said = Nowhere(), []
    statistics = Statistics(said.append)
    processor = FrameProcessor(config, rosbags_types(), outputs, statistics, time.time_ns)
    return processor, statistics, outputs, said


@pytest.mark.parametrize('change', ['reset', 'settings'])
def test_a_segmentation_that_does_not_end_delays_neither_a_change_nor_new_frames(scene,
                                                                                 monkeypatch,
                                                                                 change):
    begun, release, threads = threading.Event(), threading.Event(), []
    processor, statistics, outputs, said = processor_with(scene)

    def hangs(tracked):
        begun.set()
        threads.append(threading.current_thread())
        assert release.wait(WAIT_S)
        raise ValueError('too late to matter')

    monkeypatch.setattr(processor_module, 'PATIENCE_S', 0.01)
    monkeypatch.setattr(processor._pipeline, 'segment', hangs)
    processor.start()
    processor.put(scene.moment(rosbags_types(), 0).message())
    assert begun.wait(WAIT_S)
    if change == 'reset':
        processor.reset()
    else:
        processor.reconfigure(with_flat(NodeConfig(), {**scene.settings,
                                                       'tracking.max_tracks': 50}))
    processor.put(scene.moment(rosbags_types(), 1).message())
    assert soon(lambda: outputs.names == [KEYPOINTS])
    assert 'abandoned a frame' in said[0]
    release.set()
    threads[0].join(WAIT_S)
    assert processor.stop(WAIT_S)
    assert outputs.names == [KEYPOINTS] and len(said) == 1, 'what was given up is silent'
    counts = statistics.snapshot().counts
    assert (counts['answered'], counts['published'], counts['abandoned']) == (1, 1, 1)


def test_images_are_tracked_while_a_segmentation_runs_and_dropped_ones_are_counted(scene,
                                                                                   monkeypatch):
    processor, statistics, outputs, _ = processor_with(scene)
    begun, go, segmented, tracked = threading.Event(), threading.Event(), [], []
    segment, track = processor._pipeline.segment, processor._pipeline.track

    def slow(frame):
        begun.set()
        assert go.wait(WAIT_S)
        segmented.append(frame.stamp)
        return segment(frame)

    monkeypatch.setattr(processor._pipeline, 'segment', slow)
    monkeypatch.setattr(processor._pipeline, 'track',
                        lambda image, stamp: tracked.append(stamp) or track(image, stamp))
    processor.start()
    stamps = [scene.moment(rosbags_types(), i).stamp for i in range(4)]
    for index, stamp in enumerate(stamps):
        processor.put(scene.moment(rosbags_types(), index).message())
        assert soon(lambda: tracked[-1:] == [stamp])
        assert begun.wait(WAIT_S)
    assert soon(lambda: statistics.snapshot().counts['dropped'] == 2)
    go.set()
    assert soon(lambda: statistics.snapshot().counts.get('answered') == 2)
    assert processor.stop(WAIT_S)
    assert tracked == stamps and segmented == [stamps[0], stamps[3]]


def test_a_frame_that_does_not_end_neither_blocks_the_stop_nor_is_published(scene, monkeypatch):
    processor, statistics, outputs, _ = processor_with(scene)
    begun, release, threads = threading.Event(), threading.Event(), []
    segment = processor._pipeline.segment

    def slow(frame):
        threads.append(threading.current_thread())
        begun.set()
        assert release.wait(WAIT_S)
        return segment(frame)

    monkeypatch.setattr(processor._pipeline, 'segment', slow)
    processor.start()
    processor.put(scene.moment(rosbags_types(), 0).message())
    assert begun.wait(WAIT_S)
    assert processor.stop(0.05) is False
    release.set()
    threads[0].join(WAIT_S)
    assert not threads[0].is_alive() and outputs.names == []


def test_only_published_results_are_counted_as_answered(scene):
    processor, statistics, outputs, _ = processor_with(scene)
    processor.process(Arrival(scene.moment(rosbags_types(), 0).message(), 0.0))
    processor.close()
    processor.process(Arrival(scene.moment(rosbags_types(), 1).message(), 0.0))
    assert statistics.snapshot().counts['answered'] == 1


def test_if_settings_cannot_be_applied_all_old_ones_are_kept(scene, monkeypatch):
    processor, statistics, outputs, said = processor_with(scene)
    processor.process(Arrival(scene.moment(rosbags_types(), 0).message(), 0.0))

    def half(config):
        processor._pipeline.config = config
        raise OSError('gone')

    monkeypatch.setattr(processor._pipeline, 'reconfigure', half)
    processor.reconfigure(with_flat(NodeConfig(), {**scene.settings, 'tracking.max_tracks': 50}))
    processor.process(Arrival(scene.moment(rosbags_types(), 1).message(), 0.0))
    assert 'new settings could not be applied: OSError: gone' in said[0]
    assert processor._pipeline.config.tracking.max_tracks == NodeConfig().tracking.max_tracks
    assert statistics.snapshot().counts['answered'] == 2


def test_an_exception_in_the_pipeline_is_reported_counted_and_the_state_reset(scene, monkeypatch):
    processor, statistics, outputs, said = processor_with(scene)
    arrivals = [Arrival(scene.moment(rosbags_types(), i).message(), 0.0) for i in range(16)]
    for arrival in arrivals[:7]:
        processor.process(arrival)
    worker = NewestWins(processor.process, processor.failed)
    with monkeypatch.context() as patch:
        patch.setattr(processor._pipeline._tracker, 'track', lambda *_: np.zeros(1)[2])
        worker.put(arrivals[7])
        assert soon(lambda: said)
        assert worker.stop(WAIT_S)
    assert said[0].startswith('restarted after an error: IndexError')
    assert statistics.snapshot().counts['failed'] == 1
    for arrival in arrivals[8:]:
        processor.process(arrival)
    assert statistics.snapshot().tracks > 100


def test_only_subscribed_outputs_are_built_and_none_are_sent_after_the_end(scene):
    processor, statistics, outputs, _ = processor_with(scene)
    processor.process(Arrival(scene.moment(rosbags_types(), 0).message(), 0.0))
    assert outputs.names == [KEYPOINTS]
    processor.close()
    processor.process(Arrival(scene.moment(rosbags_types(), 1).message(), 0.0))
    assert outputs.names == [KEYPOINTS]


def test_new_settings_are_used_from_the_next_frame_on(scene):
    processor, statistics, _, _ = processor_with(scene)
    for index in range(8):
        processor.process(Arrival(scene.moment(rosbags_types(), index).message(), 0.0))
    assert statistics.snapshot().tracks > 100
    processor.reconfigure(with_flat(NodeConfig(), {**scene.settings, 'tracking.max_tracks': 50,
                                                   'tracking.frame_gap': 1}))
    for index in range(8, 11):
        processor.process(Arrival(scene.moment(rosbags_types(), index).message(), 0.0))
    assert 0 < statistics.snapshot().tracks <= 50


def test_a_frame_tracked_before_a_reset_has_no_result_after_it(scene):
    processor, _, outputs, _ = processor_with(scene)
    first, second = (Arrival(scene.moment(rosbags_types(), i).message(), 0.0) for i in (0, 1))
    stale = processor.track(first)
    processor.reset()
    fresh = processor.track(second)
    processor.answer(stale)
    assert outputs.names == []
    processor.answer(fresh)
    assert outputs.names == [KEYPOINTS]


def test_a_break_in_the_stream_is_reported_even_if_its_frame_has_no_result(scene):
    processor, statistics, _, said = processor_with(scene)
    late, early = (Arrival(scene.moment(rosbags_types(), i).message(), 0.0) for i in (9, 2))
    processor.process(late)
    broken = processor.track(early)
    assert 'the time jumped back' in said[-1]
    processor.answer(broken)
    assert len(said) == 1 and statistics.snapshot().counts['unanswered'] == 1


def test_a_resource_is_found_in_the_checkout_and_a_missing_one_is_named():
    from gdm_motion_seg.errors import InputError
    from gdm_motion_seg.resources import resource
    assert resource('config', 'fastdds.xml').is_file()
    with pytest.raises(InputError, match='config/nothing.xml is not installed'):
        resource('config', 'nothing.xml')
