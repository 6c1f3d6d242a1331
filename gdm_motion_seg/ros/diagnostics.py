# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The diagnostics: counters and times of the node, in bounded memory, and what they say.

This module does not use rclpy.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import os
import re
import threading
import time

import numpy as np

from gdm_motion_seg.ros.adaptation import Pace

WINDOW = 300
"""Number of frames for rates and percentiles: ten seconds at 30 Hz."""
MAX_AGE_S = 600.0
"""A stamp that differs more from the node's clock is of another clock (a bag without /clock)."""
WARN_PERIOD_S, MOST_WARNINGS = 5.0, 10
"""A problem is logged once per this period, and at most so many problems in all."""
OK, WARN, ERROR = range(3)
"""Levels of diagnostic_msgs/DiagnosticStatus."""
LISTENERS = 'listeners of '
"""Prefix of the keys with the number of subscribers of each output."""
MAX_OTHERS = 8
"""Largest number of other image topics that are listed if the configured one has no publisher."""
SHARED_MEMORY, ENOUGH_MEMORY = '/dev/shm', 16 * 2**20
"""Folder of the shared memory of DDS, and bytes for a few images. Docker gives a container 64 MiB
if it is not told otherwise."""
RECENT_S = 5.0
"""Time for which a problem keeps the level at WARN, so that a person or a monitor sees it."""


@dataclass(frozen=True)
class Snapshot:
    """The state of the counters at one moment; times are in seconds, rates in Hz."""

    counts: dict[str, int]
    input_rate: float
    output_rate: float
    latency: tuple[float, float]
    """Median and 95th percentile of the time from arrival to result."""
    age: tuple[float, float]
    """The same from the image's stamp to the result, by the node's clock."""
    since_input: float | None
    """Time since the last image; None if there was none."""
    since_output: float | None
    """Time since the last result; None if there was none."""
    waiting: float
    """Time since the first image without a result; 0 if the last image has one."""
    tracks: int
    motions: int
    note: str
    """Reason in the last result; empty if there is none."""
    problem: str
    """The last problem; empty if there was none."""
    since_problem: float | None


class Statistics:
    """
    Counters that the callbacks and the workers write and the diagnostics read.

    ``warn`` logs a problem. It is called once per period for each sentence, whose numbers do not
    matter; rclpy's own throttle would let one problem hide another.
    """

    def __init__(self, warn: Callable[[str], None] = lambda sentence: None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with zeros."""
        self._warn, self._clock = warn, clock
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._arrivals, self._answers, self._latencies, self._ages = (
            deque[float](maxlen=WINDOW) for _ in range(4))
        self._unanswered_since: float | None = None
        self._tracks = self._motions = 0
        self._note = self._problem = ''
        self._problem_at: float | None = None
        self._warned: dict[str, float] = {}

    def received(self, dropped: bool) -> None:
        """Count an image; ``dropped`` if it replaced an older one that was still waiting."""
        now = self._clock()
        with self._lock:
            self._counts['received'] += 1
            self._counts['dropped'] += dropped
            self._arrivals.append(now)
            if self._unanswered_since is None:
                self._unanswered_since = now

    def paused(self) -> None:
        """Stop waiting for results, because the node is not active any more."""
        with self._lock:
            self._unanswered_since = None

    def answered(self, latency: float, age: float, tracks: int, motions: int, note: str) -> None:
        """Count a frame whose result was published; ``note`` is the reason in the result."""
        with self._lock:
            self._counts['answered'] += 1
            self._answers.append(self._clock())
            self._latencies.append(latency)
            if abs(age) < MAX_AGE_S:
                self._ages.append(age)
            self._unanswered_since = None
            self._tracks, self._motions, self._note = tracks, motions, note

    def problem(self, kind: str, sentence: str) -> None:
        """Count a problem under its kind, for instance ``refused``, and keep its sentence."""
        with self._lock:
            self._counts[kind] += 1
            now = self._problem_at = self._clock()
            self._problem = sentence
            text = re.sub(r'\d+(\.\d+)?(e[+-]?\d+)?', '#', sentence)
            self._warned = {known: at for known, at in self._warned.items()
                            if now - at < WARN_PERIOD_S}
            if text in self._warned or len(self._warned) >= MOST_WARNINGS:
                return
            self._warned[text] = now
        self._warn(sentence)

    def count(self, name: str) -> None:
        """Count an event that is not a problem."""
        with self._lock:
            self._counts[name] += 1

    def snapshot(self) -> Snapshot:
        """Return the present state."""
        now = self._clock()
        with self._lock:
            return Snapshot(
                dict(self._counts), _rate(self._arrivals, now), _rate(self._answers, now),
                _percentiles(self._latencies), _percentiles(self._ages),
                now - self._arrivals[-1] if self._arrivals else None,
                now - self._answers[-1] if self._answers else None,
                now - self._unanswered_since if self._unanswered_since is not None else 0.0,
                self._tracks, self._motions, self._note, self._problem,
                now - self._problem_at if self._problem_at is not None else None)


def _rate(times: deque[float], now: float) -> float:
    """Return the rate in Hz; it falls while no event comes."""
    if len(times) < 2:
        return 0.0
    return (len(times) - 1) / max(now - times[0], 1e-9)


def _percentiles(values: deque[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 0.0
    median, high = np.percentile(np.array(values), (50, 95))
    return float(median), float(high)


@dataclass(frozen=True)
class Health:
    """The status of one component."""

    name: str
    level: int
    message: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """What is known about the publishers of the image topic."""

    topic: str
    publishers: int
    mismatch: str = ''
    """Why the images of a publisher cannot be received; empty if they can."""
    others: tuple[str, ...] = ()
    """Other topics on which images of the wanted type are published."""

    @property
    def no_publisher(self) -> str:
        """Return a sentence that the topic has no publisher, with the image topics that exist."""
        if not self.others:
            return f'{self.topic} has no publisher'
        more = ', ...' if len(self.others) > MAX_OTHERS else ''
        return (f'{self.topic} has no publisher; there are images on '
                f'{", ".join(self.others[:MAX_OTHERS])}{more}')


def input_health(node: str, state: str, active_for: float, source: Source, snapshot: Snapshot,
                 patience: float) -> Health:
    """Return the status of the input: a warning after ``patience`` seconds without images."""
    counts = snapshot.counts
    level = _input_level(state, active_for, source, snapshot, patience)
    return Health(f'{node}: images', *level, {
        'topic': source.topic, 'publishers': str(source.publishers),
        'rate (Hz)': f'{snapshot.input_rate:.2f}',
        **{name: str(counts.get(name, 0)) for name in ('received', 'dropped', 'refused')}})


def _input_level(state: str, active_for: float, source: Source, snapshot: Snapshot,
                 patience: float) -> tuple[int, str]:
    if state != 'active':
        return OK, f'not listening: the node is {state}'
    silence = active_for if snapshot.since_input is None else snapshot.since_input
    if source.mismatch:
        return ERROR, source.mismatch
    if silence > patience:
        if source.publishers == 0:
            return WARN, source.no_publisher
        return WARN, f'no image on {source.topic} for {silence:.0f} s, although it has a publisher'
    if snapshot.since_input is None:
        return OK, f'waiting for the first image on {source.topic}'
    return OK, f'{snapshot.input_rate:.1f} images a second'


def output_health(node: str, state: str, snapshot: Snapshot, patience: float,
                  listeners: Mapping[str, int], busy: str = '',
                  pace: Pace = Pace()) -> Health:
    """Return the status of the output: an error after ``patience`` seconds without results."""
    # ``busy`` says what the node waits for, such as the compiler.
    counts, problem = snapshot.counts, snapshot.problem
    if problem and snapshot.since_problem is not None:
        problem += f' ({snapshot.since_problem:.0f} s ago)'
    return Health(f'{node}: motions', *_output_level(state, snapshot, patience, busy, pace), {
        'state': state, 'rate (Hz)': f'{snapshot.output_rate:.2f}',
        **{name: str(counts.get(name, 0))
           for name in ('answered', 'published', 'unanswered', 'failed', 'abandoned')},
        'latency p50 (ms)': f'{1e3 * snapshot.latency[0]:.1f}',
        'latency p95 (ms)': f'{1e3 * snapshot.latency[1]:.1f}',
        'age p50 (ms)': f'{1e3 * snapshot.age[0]:.1f}',
        'age p95 (ms)': f'{1e3 * snapshot.age[1]:.1f}',
        'tracks': str(snapshot.tracks), 'motions': str(snapshot.motions),
        'load': f'{pace.load:.2f}', 'share of tracks and effort': f'{pace.share:.2f}',
        'note': snapshot.note or 'none', 'last problem': problem or 'none',
        **{f'{LISTENERS}{name}': str(count) for name, count in listeners.items()}})


def _output_level(state: str, snapshot: Snapshot, patience: float, busy: str,
                  pace: Pace) -> tuple[int, str]:
    if state != 'active':
        return OK, f'the node is {state}' + (f': {busy}' if busy else '')
    if snapshot.waiting > patience:
        why = busy or snapshot.problem
        reason = f': {why}' if why else ''
        return ERROR, f'no frame answered for {snapshot.waiting:.0f} s while images come{reason}'
    if snapshot.since_problem is not None and snapshot.since_problem < RECENT_S:
        return WARN, snapshot.problem
    if snapshot.since_output is None:
        return OK, 'no frame answered yet'
    if pace.at_floor:
        return WARN, (f'the machine is too slow: an image takes {pace.load:.1f} periods of the '
                      'camera, and the number of tracks cannot be reduced further')
    if pace.share < 1.0:
        return OK, (f'{snapshot.motions} motions of {snapshot.tracks} tracks; {pace.share:.0%} '
                    'of the tracks and of the effort, to keep up with the images')
    return OK, snapshot.note or f'{snapshot.motions} motions of {snapshot.tracks} tracks'


def shared_memory_problem(folder: str = SHARED_MEMORY) -> str:
    """Say that images will get lost for lack of shared memory; empty if they will not."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return ''  # another system, with another kind of shared memory
    free = space.f_bavail * space.f_frsize
    if free >= ENOUGH_MEMORY:
        return ''
    return (f'{folder} has only {free / 2**20:.1f} MiB free: images from this machine may get '
            'lost (docker run --shm-size=256m gives more)')
