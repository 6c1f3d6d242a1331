# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals that end a command, wherever they find it."""

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import sys
from typing import NoReturn

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and after SIGTERM, as shells have them."""
AGAIN_S = 0.05
"""After so long a dropped interruption is raised again; by then the destructor has ended."""


class Terminated(BaseException):
    """SIGTERM came; unwinding removes half-written files."""


class Stop:
    """A wish to end early: made by the first Ctrl-C, once there is something to keep."""

    def __init__(self) -> None:
        """Have nothing to keep yet."""
        self.worthwhile = False
        """Whether something was computed that is worth keeping."""
        self.wanted = False
        """Whether Ctrl-C was pressed."""

    def interrupt(self, number: int, frame: object) -> None:
        """Note Ctrl-C; raise KeyboardInterrupt at the second one, or if nothing can be kept."""
        if self.wanted or not self.worthwhile:
            raise KeyboardInterrupt
        self.wanted = True


@contextmanager
def stopped_by_ctrl_c() -> Iterator[Stop]:
    """
    Let Ctrl-C ask for an early end instead of raising KeyboardInterrupt anywhere.

    An exception could hit the middle of a row or of an encoded picture. The block looks at the
    wish between two frames, so that every file holds the same frames.
    """
    stop = Stop()
    before = signal.signal(signal.SIGINT, stop.interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interruptions_arrive() -> Iterator[None]:
    """
    Let SIGTERM raise Terminated, and let neither that nor KeyboardInterrupt get lost.

    Python drops an exception that a signal raises within a destructor or a callback from C, and
    tells ``sys.unraisablehook``, which sees to it that the same comes again. It must not simply be
    raised until somebody takes notice: the second one would hit the removal of half-written files.
    """
    dropped: list[type[BaseException]] = []
    report = sys.unraisablehook

    def raise_again(number: int, frame: object) -> None:
        if dropped:
            raise dropped.pop()

    def note(unraisable: 'sys.UnraisableHookArgs') -> None:
        if unraisable.exc_type not in (KeyboardInterrupt, Terminated):
            report(unraisable)
            return
        dropped[:] = [unraisable.exc_type]
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    handlers = {signal.SIGTERM: signal.signal(signal.SIGTERM, _terminate),
                signal.SIGALRM: signal.signal(signal.SIGALRM, raise_again)}
    sys.unraisablehook = note
    try:
        yield
    finally:
        sys.unraisablehook = report
        if dropped:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated
