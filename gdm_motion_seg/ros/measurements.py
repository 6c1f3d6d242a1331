# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Counters and times of the node, in bounded memory."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
import re
import threading
import time

import numpy as np

WINDOW = 300
"""Number of frames for rates and percentiles: ten seconds at 30 Hz."""

MAX_AGE_S = 600.0
"""A stamp that differs more from the node's clock is of another clock (a bag without /clock)."""

WARN_PERIOD_S, MOST_WARNINGS = 5.0, 10
"""A problem is logged once per this period, and at most so many problems in all."""


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
        self._arrivals: deque[float] = deque(maxlen=WINDOW)
        self._answers: deque[float] = deque(maxlen=WINDOW)
        self._latencies: deque[float] = deque(maxlen=WINDOW)
        self._ages: deque[float] = deque(maxlen=WINDOW)
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
