# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Start, run and end of the node in its process."""

import atexit
import os
import resource
import signal
import sys
import tempfile
import threading
from types import FrameType
from typing import NoReturn

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.heap import keep_frame_buffers, share_heaps

END_WITHIN_S = 1.2
"""After a signal the process ends within this time, even during a segmentation."""
SWITCH_S = 0.0005
"""Time after which a thread in Python leaves the GIL to one that waits for it. With Python's 5 ms,
tracking and segmentation wait so long for the drawing whenever a compiled loop of theirs ends."""
POLL_S = 0.05
"""Time after which the main thread looks for a signal again."""
DONE, WRONG = 0, 2
NO_MEMORY = 'there is not enough memory'
HEADROOM_BYTES = 700_000_000
"""Address space that the middleware and the compiler need after the import; with a lower limit
(prlimit --as) both hang or abort."""


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, and end the process; the exit code is 2 on errors."""
    sys.setswitchinterval(SWITCH_S)
    keep_frame_buffers()
    share_heaps()
    problem = _load()
    if problem:
        print(f'motion_seg_node: {problem}', file=sys.stderr)
        return WRONG
    life = _Life([*(sys.argv if args is None else args), *_log_arguments()])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, life.on_signal)
    try:
        threading.Thread(target=life.run, name='executor', daemon=True).start()
    except RuntimeError:  # can't start new thread
        print(f'motion_seg_node: {NO_MEMORY}', file=sys.stderr)
        return WRONG
    # The main thread only waits: Python runs signal handlers in it, and a call into the middleware
    # or a segmentation would delay them. A signal that another thread receives does not end the
    # wait, so it is short.
    while not (life.signalled or life.stop.wait(POLL_S)):
        pass
    life.stop.set()
    # The executor gets a moment to shut down cleanly.
    _leave(life.code, in_order=life.ended.wait(END_WITHIN_S))


def _load() -> str:
    """Import the slow modules; returns a sentence if that fails."""
    try:
        import rclpy  # noqa: F401

        import gdm_motion_seg.ros.node  # noqa: F401
    except ModuleNotFoundError as error:
        return (f'ROS 2 is not available ({error}): source its setup file, or '
                "pip install 'gdm_motion_seg[jazzy]'")
    except MemoryError:
        return NO_MEMORY
    except (GdmMotionSegError, ImportError, OSError) as error:
        return _one_line(error)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _address_space() + HEADROOM_BYTES:
        return f'{NO_MEMORY}: the limit of {limit / 1e9:.1f} GB of address space is too low'
    return ''


def _log_arguments() -> list[str]:
    """Return arguments without which rcl ends the process if it cannot write its log file."""
    folder = os.environ.get('ROS_LOG_DIR') or (os.environ.get('ROS_HOME') or '~/.ros') + '/log'
    try:
        os.makedirs(folder := os.path.expanduser(folder), exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return []
    except OSError as error:
        print(f'motion_seg_node: no log is kept in {folder}: {error.strerror}', file=sys.stderr)
        return ['--ros-args', '--disable-external-lib-logs']


def _address_space() -> int:
    """Return the address space of this process in bytes."""
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _one_line(error: Exception) -> str:
    hint = ''
    if os.environ.get('ROS_SECURITY_ENABLE') == 'true':
        # rcl itself says "error not set".
        hint = (' (ROS_SECURITY_ENABLE is true: the enclave must be in ROS_SECURITY_KEYSTORE, and '
                'the middleware must be built with security)')
    return f'{type(error).__name__}: {" ".join(str(error).split())[:500]}{hint}'


def _leave(code: int, in_order: bool) -> NoReturn:
    """
    End the process now, without the shutdown of the interpreter.

    A segmentation or a compilation may still run in a thread that cannot be interrupted. Even if
    not, the shutdown of the interpreter takes a second on a busy machine and has no use.
    """
    if in_order:
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # the reader has closed the pipe
    os._exit(code)


class _Life:
    """Runs the node in a separate thread."""

    def __init__(self, args: list[str]) -> None:
        self._args = args
        self.stop, self.ended = threading.Event(), threading.Event()
        self.code, self.signalled = DONE, False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; an event could deadlock, its lock may be held where the signal came."""
        self.signalled = True

    def run(self) -> None:
        """Run the node until ``stop`` is set."""
        from gdm_motion_seg.ros.node import run_node
        try:
            run_node(self._args, self.stop)
        except MemoryError:
            self._fail(NO_MEMORY)
        except Exception as error:  # the middleware may raise any exception
            self._fail(str(error) if isinstance(error, GdmMotionSegError) else _one_line(error))
        finally:
            self.ended.set()
            self.stop.set()

    def _fail(self, sentence: str) -> None:
        if self.signalled:
            return  # errors after a signal do not matter
        self.code = WRONG
        print(f'motion_seg_node: {sentence}', file=sys.stderr)
