# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Handling of the signals that end a command."""

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import sys
from typing import NoReturn

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and after SIGTERM, as in shells."""
AGAIN_S = 0.05
"""Time after which a lost interruption is raised again; the destructor has ended by then."""


class Terminated(BaseException):
    """Raised on SIGTERM; unwinding the stack removes half-written files."""


class Stop:
    """A request to end early, set by the first Ctrl-C if there are results to keep."""

    def __init__(self) -> None:
        """Begin without a request and without results."""
        self.worthwhile = False
        """Whether there are results to keep."""
        self.wanted = False
        """Whether Ctrl-C was pressed."""

    def interrupt(self, number: int, frame: object) -> None:
        """Handle Ctrl-C; raises KeyboardInterrupt the second time, or without results to keep."""
        if self.wanted or not self.worthwhile:
            raise KeyboardInterrupt
        self.wanted = True


@contextmanager
def stopped_by_ctrl_c() -> Iterator[Stop]:
    """
    Let Ctrl-C set a request to end instead of raising KeyboardInterrupt anywhere.

    An exception could interrupt the writing of a row or of an image. The block checks the request
    between two frames, so that every file contains the same frames.
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
    Let SIGTERM raise Terminated, and make sure that neither it nor KeyboardInterrupt is lost.

    Python drops an exception that a signal raises within a destructor or a callback from C, and
    calls ``sys.unraisablehook``. The hook raises the exception again, once. Raising it repeatedly
    would interrupt the removal of half-written files.
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
