# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Soak test of the node: looping bags of two cameras, with random faults.

Two nodes run at once, one on raw and one on compressed images; the bags are played at their own
rate. Faults are bad messages, changes of settings, transitions of the life cycle, and listeners
that are killed. After each fault the last result is compared with the ground truth; the next fault
comes when it is right, or after a timeout.
"""

import argparse
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
import os
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
import threading
import time
from typing import Any

import numpy as np
import psutil

from gdm_motion_seg.errors import GdmMotionSegError, MissingDependencyError
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.injection import Aftermath, FaultInjector, NOTHING
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth.scene_bags import (
    IMAGE_TOPIC, INFO_TOPIC, SceneOptions, write_scene)
from gdm_motion_seg_tools.synth.score import Scorer
from gdm_motion_seg_tools.synth.truth import Truth

OPTIONS = {name: SceneOptions(scene='demo', n_frames=150, size=(640, 480), fps=15.0,
                              compressed=name == 'compressed')
           for name in ('raw', 'compressed')}
"""Scene by transport. At 15 Hz two nodes answer most images on two cores, with other work on them.
Of images at 60 Hz they answered one in seven, which was fewer in a second, at a load of 9."""
SEED = 0
RIGHT = 0.9
"""Smallest share of right labels of a right result."""
LABELLED = 0.5
"""Smallest share of labelled keypoints of a result."""
START_S = 180.0
SAMPLE_S = 2.0
WINDOW_S = 10.0
"""Time over which the median of memory is taken, so that a large image is not a leak."""
FIRST_S = 60.0
"""Time in which memory may grow, because libraries fill their pools."""
KEEP = 2000
"""Number of messages of a node that are kept; more than come between two faults."""
MIB = 2.0 ** 20
COUNTERS = 'received', 'answered', 'failed'
"""Counters in the diagnostics that are reported."""


@dataclass(frozen=True)
class Sample:
    """The state of a node's process at one time."""

    at: float
    rss_mb: float
    """Resident memory without ``camera_mb``."""
    private_mb: float
    """Private memory, without libraries and shared memory."""
    threads: int
    load: float = 0.0
    """Load average of the machine over a minute."""
    camera_mb: float = 0.0
    """Pages of the cameras' shared memory that the node has read: memory of this process."""


class Totals:
    """Sums of a node's counters, which begin at zero again when it is configured."""

    def __init__(self) -> None:
        """Begin with zeros."""
        self.sums, self._last = dict.fromkeys(COUNTERS, 0), dict.fromkeys(COUNTERS, 0)

    def add(self, counters: Mapping[str, int]) -> None:
        """Take the next state of the counters."""
        began_again = any(counters[name] < self._last[name] for name in COUNTERS)
        for name in COUNTERS:
            self.sums[name] += counters[name] - (0 if began_again else self._last[name])
        self._last = dict(counters)


class Camera:
    """One node with the bag that is played to it; use it in a ``with`` statement."""

    def __init__(self, session: Any, folder: Path, transport: str,
                 own_segments: Collection[Path]) -> None:
        """Render the scene; ``own_segments`` is the shared memory of the cameras."""
        from gdm_motion_seg.ros.process import NodeProcess
        from gdm_motion_seg_tools.ros.disturb import Disturbances
        from gdm_motion_seg_tools.ros.record import Recorder
        from gdm_motion_seg_tools.ros.replay import BagPlayer
        options = OPTIONS[transport]
        suffix = '/compressed' if options.compressed else ''
        space = f'/soak_{transport}'
        self.transport = transport
        self.truth: Truth = write_scene(folder / transport, options)
        self.samples: list[Sample] = []
        self.rows: list[Row] = []
        self.totals, self._counted_at = Totals(), 0.0
        self._name = f'{space}/motion_seg'
        self._own_segments = own_segments
        self._keypoints, self._motions = f'{self._name}/keypoints', f'{self._name}/motions'
        cloud = 'sensor_msgs/msg/PointCloud2'
        self.node = NodeProcess({'image_transport': transport}, log=folder / f'{transport}.log',
                                arguments=['-r', f'__ns:={space}'])
        self.recorder = Recorder(session.node, dict.fromkeys(
            (self._keypoints, self._motions), cloud), KEEP)
        rng = np.random.default_rng(SEED)
        self._disturbances = Disturbances(session, self._name, rng)
        self.injector = FaultInjector(
            transport, IMAGE_TOPIC + suffix, round(1e9 / options.fps), self._recovered, rng,
            self._disturbances.actions())
        self.player = BagPlayer(
            session.node, folder / transport, loop=True, transform=self.injector,
            topics={IMAGE_TOPIC + suffix: f'{space}/image{suffix}',
                    INFO_TOPIC: f'{space}/camera_info'})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.player.play, args=(self._stop,), daemon=True)

    def __enter__(self) -> 'Camera':
        """Start the node."""
        self.node.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self.stop()
        self._disturbances.close()
        self.node.stop()
        self.player.close()
        self.recorder.close()

    def wait(self) -> None:
        """Wait until the node has subscribed and its publishers are discovered."""
        if not (self.player.wait_for_subscribers(START_S)
                and self.recorder.wait_for_publishers(START_S)):
            raise GdmMotionSegError(f'the node did not start: {self.node.output()[-500:]}')

    def start(self) -> None:
        """Begin to play."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """Stop playing."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> bool:
        """Sample the process and evaluate finished aftermaths; False if it died."""
        try:
            process = psutil.Process(self.node.process.pid)
            memory = process.memory_info()
            of_cameras = resident(process.pid, self._own_segments)
            self.samples.append(Sample(
                time.monotonic(), (memory.rss - of_cameras) / MIB,
                (memory.rss - memory.shared) / MIB, process.num_threads(), os.getloadavg()[0],
                of_cameras / MIB))
        except (psutil.Error, OSError):
            return False
        self._count()
        while True:
            try:
                aftermath = self.injector.finished.get_nowait()
            except Empty:
                return self.node.alive
            self.rows.append(self._row(aftermath))

    def _count(self) -> None:
        """Add up the counters in the diagnostics of the node since the last call."""
        from gdm_motion_seg_tools.ros.record import (
            deserialize_message, DIAGNOSTICS, message_class, OUTPUTS)
        kind = message_class(OUTPUTS[DIAGNOSTICS])
        new = [r for r in self.recorder.records(DIAGNOSTICS) if r.at > self._counted_at]
        for record in new:
            self._counted_at = record.at
            message = deserialize_message(record.raw, kind)
            values = {pair.key: pair.value for status in message.status
                      if status.hardware_id == self._name for pair in status.values}
            if values:  # else these are the diagnostics of the other node
                self.totals.add({name: int(values[name]) for name in COUNTERS})

    def _recovered(self, aftermath: Aftermath) -> tuple[bool, bool]:
        row = self._row(aftermath)
        return bool(row['answered']), bool(row['right'])

    def _row(self, aftermath: Aftermath) -> Row:
        """Count the results of the good frames after a fault, and score the last one."""
        answers = self._answers(aftermath)
        motions = {stamp_of(cloud.header): rows_from_cloud(cloud)
                   for cloud in self._clouds(self._motions, aftermath)}
        known = [stamp for stamp in answers if len(motions.get(stamp, ()))]
        share_right = share_labelled = 0.0
        if known:
            share_right, share_labelled = self._score(
                known[-1], rows_from_cloud(answers[known[-1]]), motions[known[-1]])
        return {'camera': self.transport, 'fault': aftermath.fault, 'good': len(aftermath.stamps),
                'answered': len(answers), 'share_right': share_right,
                'share_labelled': share_labelled,
                'right': share_right >= RIGHT and share_labelled >= LABELLED,
                'at': aftermath.since, 'rss_mb': self.samples[-1].rss_mb,
                'threads': self.samples[-1].threads}

    def _answers(self, aftermath: Aftermath) -> dict[int, Any]:
        """Return the keypoints of the good frames, without empty clouds (no pair yet)."""
        return {stamp_of(cloud.header): cloud for cloud in self._clouds(self._keypoints, aftermath)
                if cloud.width and stamp_of(cloud.header) in aftermath.stamps}

    def _clouds(self, topic: str, aftermath: Aftermath) -> list[Any]:
        from gdm_motion_seg_tools.ros.record import deserialize_message, message_class
        kind = message_class('sensor_msgs/msg/PointCloud2')
        return [deserialize_message(record.raw, kind) for record in self.recorder.records(topic)
                if record.at >= aftermath.since]

    def _score(self, stamp: int, keypoints: Any, motions: Any) -> tuple[float, float]:
        stamps = np.array([frame.stamp for frame in self.truth.frames])
        then = stamp - round(float(motions['dt'][0]) * 1e9)
        scorer = Scorer(self.truth)
        scorer.add(int(stamps[np.abs(stamps - then).argmin()]), stamp,
                   np.column_stack((keypoints['u'], keypoints['v'])), keypoints['label'])
        score = scorer.score()
        return score.share_right, score.share_labelled


def resident(pid: int, files: Collection[Path]) -> int:
    """Return the bytes of some mapped files that are resident in a process."""
    total, names, counts = 0, {str(file) for file in files}, False
    for line in Path(f'/proc/{pid}/smaps').read_text(errors='replace').splitlines():
        words = line.split(maxsplit=5)
        if not words[0].endswith(':'):  # the first line of a mapping: its address, ..., its file
            counts = len(words) == 6 and words[5] in names
        elif counts and words[0] == 'Rss:':
            total += 1024 * int(words[1])
    return total


def waiting_threads() -> int:
    """Return how many threads of this process and its children run, or wait for a core."""
    count = -1  # this thread runs
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        for stat in Path(f'/proc/{process.pid}/task').glob('*/stat'):
            with suppress(OSError):  # it has ended
                count += stat.read_text(errors='replace').rpartition(')')[2].split()[0] in 'RD'
    return max(count, 0)


def run(args: argparse.Namespace) -> Report:
    """Play for some minutes and report memory, threads, results and crashes."""
    try:
        from gdm_motion_seg.ros.segments import segments_of
        from gdm_motion_seg_tools.ros.session import Session
    except ImportError as error:
        raise MissingDependencyError(
            f'the soak needs ROS 2 ({error}): source its setup file, or '
            "pip install 'gdm_motion_seg[jazzy]'") from None
    with TemporaryDirectory() as folder, Session() as session, ExitStack() as stack:
        own = segments_of(os.getpid())  # of the cameras only, because no node runs yet
        cameras = [stack.enter_context(Camera(session, Path(folder), transport, own))
                   for transport in OPTIONS]
        for camera in cameras:
            camera.wait()
        start = time.monotonic()
        threads = soak(cameras, 60.0 * args.minutes)
        counts = [camera.totals.sums for camera in cameras]
        died = [not camera.node.alive for camera in cameras]
        codes = [camera.node.stop() for camera in cameras]
    summary = summarise([camera.samples for camera in cameras],
                        [row for camera in cameras for row in camera.rows], start)
    rows = [row | {'at': row['at'] - start} for camera in cameras for row in camera.rows]
    summary |= {'minutes': (time.monotonic() - start) / 60.0, 'load_own': float(np.mean(threads)),
                'crashes': float(sum(d or code != 0 for d, code in zip(died, codes))),
                'failed_actions': float(sum(len(camera.injector.failed_actions)
                                            for camera in cameras)),
                'good_frames': float(sum(camera.injector.good_frames for camera in cameras)),
                **{name: float(sum(count[name] for count in counts)) for name in COUNTERS}}
    return make_report('soak', {'gdm': summary}, rows)


def soak(cameras: Sequence[Camera], seconds: float) -> list[int]:
    """Play for some time, or until a node dies; returns the running threads at each sample."""
    for camera in cameras:
        camera.start()
    end, threads = time.monotonic() + seconds, []
    while time.monotonic() < end:
        threads.append(waiting_threads())
        alive = [camera.look() for camera in cameras]
        if not all(alive):
            break
        time.sleep(SAMPLE_S)
    for camera in cameras:
        camera.stop()
        camera.look()
    return threads


def summarise(samples: Sequence[Sequence[Sample]], rows: Sequence[Row],
              start: float) -> dict[str, float]:
    """Return the figures; memory and threads are those of the worst node."""
    memory = np.array([[_memory(own, start, min(FIRST_S, (own[-1].at - start) / 2)),
                        _memory(own, start, own[-1].at - start)] for own in samples])
    growth = memory[:, 1] - memory[:, 0]
    worst = int(np.argmax(growth[:, 0]))
    faults = [row for row in rows if row['fault'] != NOTHING]
    count = max(1, len(faults))
    return {
        'rss_growth_mb': max(float(growth[worst, 0]), 0.0),
        'private_growth_mb': max(float(growth[:, 1].max()), 0.0),
        'camera_pages_growth_mb': max(float(growth[:, 2].max()), 0.0),
        'threads_leaked': float(max(max(own[-1].threads - own[0].threads, 0) for own in samples)),
        'answered_after_fault': sum(row['answered'] > 0 for row in faults) / count,
        'right_after_fault': sum(bool(row['right']) for row in faults) / count,
        'faults': float(len(faults)),
        'load_median': float(np.median([s.load for own in samples for s in own])),
        'load_max': max(s.load for own in samples for s in own),
        'rss_start_mb': samples[worst][0].rss_mb,
        'rss_first_minute_mb': float(memory[worst, 0, 0]),
        'rss_end_mb': float(memory[worst, 1, 0]),
        'rss_peak_mb': max(s.rss_mb for own in samples for s in own),
        'threads_start': float(samples[worst][0].threads),
        'threads_end': float(samples[worst][-1].threads)}


def _memory(samples: Sequence[Sample], start: float, until: float) -> list[float]:
    """Return medians over the last seconds before a time: the node's, private, the cameras'."""
    recent = [s for s in samples if until - WINDOW_S < s.at - start <= until] or samples[-1:]
    return [float(np.median(values)) for values in zip(
        *((s.rss_mb, s.private_mb, s.camera_mb) for s in recent))]
