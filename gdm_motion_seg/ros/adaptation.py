# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Adaptation to a machine that is too slow: fewer tracks and less effort instead of dropped images.

The load is the time that the slower of the two workers takes for an image, over the period of the
camera. An image that is dropped while the load is high, or a load above 1, lowers the share of
tracks and effort in proportion. The share rises again in small steps after the load was low for a
while. The thresholds lie so far apart that a step up does not lead to a step down.
"""

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
import threading
from typing import Literal

FLOOR_TRACKS = 500
"""Smallest number of tracks: with fewer, small bodies would have none."""
HIGH, AIM, LOW = 0.85, 0.65, 0.55
"""Load above which the share falls, load to reach after a step down, load below which it rises."""
STEEPEST, GENTLEST = 0.5, 0.9
"""Limits of the factor of one step down: part of the time does not depend on the tracks."""
RISE = 1.15
"""Factor of one step up: LOW x RISE is still below HIGH."""
RECENT = 15
"""Images over which times are averaged."""
FEWEST = 6
"""Number of images after a change before its effect is judged."""
PATIENCE = 90
"""Number of images between a change and a step up: 3 s at 30 Hz."""
ARRIVALS = 60
"""Number of arrivals from which the period is estimated."""
QUANTILE = 0.25
"""The period is this quantile of the steps between stamps: lost images make steps longer."""

Stage = Literal['track', 'answer']


@dataclass(frozen=True)
class Pace:
    """The present state of the policy."""

    share: float = 1.0
    """Share of the tracks and of the effort, in (0, 1]."""
    load: float = 0.0
    """Time of the slower worker for an image over the period of the camera."""
    at_floor: bool = False
    """Whether the load is too high and the share cannot fall any further."""


class Adaptation:
    """Decides the share of tracks and effort for the machine; thread-safe, reads no clock."""

    def __init__(self) -> None:
        """Begin with a share of 1."""
        self._lock = threading.Lock()
        self._share, self._floor = 1.0, 1.0
        self._arrivals: deque[tuple[int, float]] = deque(maxlen=ARRIVALS)
        self._forget_times()

    def _forget_times(self) -> None:
        self._times: dict[Stage, deque[float]] = {
            'track': deque(maxlen=RECENT), 'answer': deque(maxlen=RECENT)}
        self._dropped = 0
        self._since_change = 0

    def reset(self) -> None:
        """Begin again, because settings changed or the feature is off."""
        with self._lock:
            self._share = 1.0
            self._arrivals.clear()
            self._forget_times()

    def arrived(self, stamp: int, at: float, dropped: bool = False) -> None:
        """Note an image: its stamp (ns), when it came (s), and whether it dropped another one."""
        with self._lock:
            if self._arrivals and stamp <= self._arrivals[-1][0]:
                self._arrivals.clear()  # another recording, or the same one again
            self._arrivals.append((stamp, at))
            self._dropped += dropped

    def dropped(self) -> None:
        """Note an image that was dropped between the two workers."""
        with self._lock:
            self._dropped += 1

    def took(self, stage: Stage, seconds: float) -> None:
        """Note how long a worker took for an image."""
        with self._lock:
            self._times[stage].append(seconds)
            self._since_change += stage == 'track'

    def pace(self) -> Pace:
        """Return the present state for the diagnostics."""
        with self._lock:
            load = self._load()
            return Pace(self._share, load, self._share <= self._floor and load > 1.0)

    def decide(self, max_tracks: int) -> float:
        """Return the share of ``max_tracks`` and of the effort for the next image."""
        with self._lock:
            self._floor = min(1.0, FLOOR_TRACKS / max_tracks)
            load, share = self._load(), self._share
            if load > 1.0 or (load > HIGH and self._dropped):
                share *= min(max(AIM / load, STEEPEST), GENTLEST)
            elif load and load < LOW and not self._dropped and self._since_change >= PATIENCE:
                share *= RISE
            share = min(max(share, self._floor), 1.0)
            if share != self._share:
                self._share = share
                self._forget_times()
            elif self._since_change >= PATIENCE:
                self._since_change = self._dropped = 0
            return self._share

    def _load(self) -> float:
        """Return the load; 0 if there are too few measurements."""
        period = self._period()
        if not period or min(map(len, self._times.values())) < FEWEST:
            return 0.0
        return max(map(_mean_without_slowest, self._times.values())) / period

    def _period(self) -> float:
        """Return the camera's period by the clock of this machine; 0 if it is not known yet."""
        if len(self._arrivals) < FEWEST:
            return 0.0
        (first, begin), (last, end) = self._arrivals[0], self._arrivals[-1]
        steps = sorted(b - a for (a, _), (b, _) in pairwise(self._arrivals))
        # If a bag is played at another speed, the rates of stamps and of arrivals differ.
        return steps[int(QUANTILE * len(steps))] * (end - begin) / (last - first)


def _mean_without_slowest(times: deque[float]) -> float:
    """Return the mean without the largest value, so that one slow image does not count."""
    return (sum(times) - max(times)) / (len(times) - 1)
