# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits how often a problem is logged."""

from collections.abc import Callable
import re
import threading
import time


class Throttle:
    """
    Passes each kind of sentence once per period; numbers in it do not matter.

    At most ``limit`` sentences of all kinds pass per period, so that a sender that causes ever new
    sentences cannot flood the log or the memory.
    """

    def __init__(self, period: float, limit: int = 10,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with an empty history."""
        self._period = period
        self._limit = limit
        self._clock = clock
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()

    def passes(self, sentence: str) -> bool:
        """Whether the sentence may be logged now."""
        kind, now = re.sub(r'\d+(\.\d+)?(e[+-]?\d+)?', '#', sentence), self._clock()
        with self._lock:
            self._said = {known: at for known, at in self._said.items() if now - at < self._period}
            if kind in self._said or len(self._said) >= self._limit:
                return False
            self._said[kind] = now
            return True
