# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Messages about long waits: loading, compiling, and problems with the cache.

This module does not import numba, which commands that compile nothing do not need.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import threading
import time

EVERY_S = 2.0
"""Time between two messages about the same wait."""

Say = Callable[[str], None]


class Progress:
    """Keeps the current waits and reports them to listeners."""

    def __init__(self) -> None:
        """Begin without a wait."""
        self._changed = threading.Condition()
        self._waits: list[str] = []
        self._since = 0.0
        self._spent = 0.0
        self._listeners: list[Say] = []
        self._notes: list[str] = []
        self.compiled = 0
        """Number of functions compiled by this process, without those found in the cache."""

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Declare a wait for a block, for instance ``loading``; the innermost is reported."""
        self.begin(what)
        try:
            yield
        finally:
            self.end(what)

    def begin(self, what: str) -> None:
        """Begin a wait."""
        with self._changed:
            if not self._waits:
                self._since = time.monotonic()
            self._waits.append(what)
            self._changed.notify_all()

    def end(self, what: str) -> None:
        """End a wait."""
        with self._changed:
            self._waits.remove(what)
            if not self._waits:
                self._spent += time.monotonic() - self._since

    def note(self, sentence: str) -> None:
        """Report a sentence to all listeners, once per process."""
        with self._changed:
            if sentence in self._notes:
                return
            self._notes.append(sentence)
            listeners = list(self._listeners)
        for say in listeners:
            say(sentence)

    def text(self) -> str:
        """Return what the process waits for; empty if nothing."""
        with self._changed:
            if not self._waits:
                return ''
            what = self._waits[-1]
            seconds = self._spent + time.monotonic() - self._since
            count = f'{self.compiled} functions compiled, ' if self.compiled else ''
        return f'{what} ({count}{seconds:.0f} s so far)'

    @contextmanager
    def reported(self, say: Say, note: Say | None = None) -> Iterator[None]:
        """Call ``say`` every few seconds during a wait, and ``note`` with every note."""
        listener, done = note or say, threading.Event()

        def watch() -> None:
            while not done.is_set():
                with self._changed:
                    self._changed.wait_for(lambda: bool(self._waits) or done.is_set())
                # A short wait is not reported.
                if not done.wait(EVERY_S) and (text := self.text()):
                    say(text)

        with self._changed:
            self._listeners.append(listener)
            earlier = list(self._notes)
        for sentence in earlier:
            listener(sentence)
        thread = threading.Thread(target=watch, name='progress', daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._listeners.remove(listener)
                done.set()
                self._changed.notify_all()
            thread.join()


progress = Progress()
"""What this process waits for."""
