# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A problem is said once in a while, not thirty times a second."""

from collections.abc import Callable
import re
import threading
import time


class Throttle:
    """
    Lets each kind of sentence through once in a period; those that differ in numbers are one kind.

    Of all kinds together at most ``limit`` pass in a period, so that a sender who makes up new
    ones each time cannot flood the log or the memory.
    """

    def __init__(self, period: float, limit: int = 10,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing said."""
        self._period = period
        self._limit = limit
        self._clock = clock
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()

    def passes(self, sentence: str) -> bool:
        """Whether the sentence may be said now."""
        kind, now = re.sub(r'\d+(\.\d+)?(e[+-]?\d+)?', '#', sentence), self._clock()
        with self._lock:
            self._said = {known: at for known, at in self._said.items() if now - at < self._period}
            if kind in self._said or len(self._said) >= self._limit:
                return False
            self._said[kind] = now
            return True
