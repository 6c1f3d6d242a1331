# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals that end a command, wherever they find it."""

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import sys
from typing import NoReturn

AGAIN_S = 0.05
"""After so long a dropped interruption is raised again; by then the destructor has ended."""


class Terminated(BaseException):
    """SIGTERM came; unwinding removes half-written files."""


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
