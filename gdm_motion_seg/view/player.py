# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plays a feed at its own speed, with pause, single steps and restart."""

from collections.abc import Callable, Iterable
from enum import Enum
import threading
import time
from typing import Protocol

from gdm_motion_seg.view.feeds import Sight

WAIT_S = 0.2
"""Longest time, in seconds, until a signal is handled while nothing happens."""

FIRST = 'waiting for the first frame (at the first use, code is compiled for a minute)'


class State(str, Enum):
    """The state of a player."""

    PLAYING = 'playing'
    PAUSED = 'paused'
    ENDED = 'ended'


class Screen(Protocol):
    """Shows the frames of a player."""

    def show(self, sight: Sight) -> None:
        """Show a frame."""

    def tell(self, state: State, note: str) -> None:
        """Show the state of the player, and why it ended."""

    def clear(self) -> None:
        """Forget the frames shown so far, because the feed starts again."""


class Player:
    """
    Shows the frames of a feed.

    A file stops while it is paused. A live source continues, and its frames are skipped. Any
    thread may call the commands; one thread calls ``run``.
    """

    def __init__(self, screen: Screen, live: bool) -> None:
        """Begin in the state PLAYING."""
        self._screen, self._live = screen, live
        self._changed = threading.Condition()
        self._state = State.PLAYING
        self._steps = 0
        self._again = False

    @property
    def state(self) -> State:
        """Return the state of the player."""
        return self._state

    def pause(self) -> None:
        """Show nothing more until ``play`` or ``step``."""
        self._become(State.PAUSED)

    def play(self) -> None:
        """Continue."""
        self._become(State.PLAYING)

    def step(self) -> None:
        """Show the next frame and pause."""
        with self._changed:
            self._steps += 1
        self._become(State.PAUSED)

    def again(self) -> None:
        """Start again from the beginning; a live source continues."""
        with self._changed:
            self._again = not self._live
        self._become(State.PLAYING)

    def run(self, open_feed: Callable[[], Iterable[Sight]], wait_at_end: bool = True) -> None:
        """Play until the feed ends, or with ``wait_at_end`` until a signal."""
        while True:
            self._screen.clear()
            self._screen.tell(self._state, FIRST)
            self._play(open_feed())
            self._end('')
            if not (wait_at_end and self._wait_for_again()):
                return

    def fail(self, note: str) -> None:
        """Show why the feed has failed."""
        self._end(note)

    def wait(self) -> None:
        """Wait for a signal."""
        while True:
            time.sleep(WAIT_S)

    def _become(self, state: State) -> None:
        with self._changed:
            if self._state is State.ENDED and not self._again:
                return
            self._state = state
            self._changed.notify_all()
        self._screen.tell(state, '')

    def _end(self, note: str) -> None:
        with self._changed:
            self._state = State.ENDED
        self._screen.tell(State.ENDED, note)

    def _wait_for_again(self) -> bool:
        with self._changed:
            while not self._again:
                self._changed.wait(WAIT_S)
            self._again = False
            self._state = State.PLAYING
        return True

    def _play(self, feed: Iterable[Sight]) -> None:
        pace, told = _Pace(), False
        for sight in feed:
            if not told:
                told = True
                self._screen.tell(self._state, '')
            if not self._live:
                pace.wait_for(sight.moment.stamp)
            if self._may_show(pace):
                self._screen.show(sight)
            if self._again:
                return

    def _may_show(self, pace: '_Pace') -> bool:
        """Wait until the next frame may be shown; False if it must be skipped."""
        with self._changed:
            while self._state is State.PAUSED and not self._steps and not self._again:
                if self._live:
                    return False
                self._changed.wait(WAIT_S)
                pace.forget()
            self._steps = max(0, self._steps - 1)
        return True


class _Pace:
    """Waits according to the stamps; after a delay it does not try to catch up."""

    def __init__(self) -> None:
        self._shift: float | None = None

    def forget(self) -> None:
        """Restart the clock at the next frame."""
        self._shift = None

    def wait_for(self, stamp: int) -> None:
        now, due = time.monotonic(), stamp / 1e9
        if self._shift is None or not -1.0 < due + self._shift - now < 5.0:
            self._shift = now - due
        elif due + self._shift > now:
            time.sleep(due + self._shift - now)
        else:
            self._shift = now - due
