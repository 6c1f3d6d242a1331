# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executable ``motion_seg_node``."""

import atexit
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn, TYPE_CHECKING

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.ros.heap import return_large_buffers

if TYPE_CHECKING:
    from gdm_motion_seg.ros.node import MotionSegNode

END_WITHIN_S = 1.2
"""After a signal the process ends within this time, even during a solve."""
LET_FINISH_S = 0.5
"""How long the frame that is being worked on may still take then."""


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, and end the process; returns 2 if it cannot run."""
    return_large_buffers()
    bell = _Bell()
    # Before everything that takes time, so that no signal finds the process unprepared.
    bell.ring_on(signal.SIGINT, signal.SIGTERM)
    try:
        node = _make_node(args)
    except GdmMotionSegError as error:
        print(f'motion_seg_node: {error}', file=sys.stderr)
        return 2
    except ImportError as error:
        print(f'motion_seg_node needs ROS 2 ({error}): source its set-up, or '
              "pip install 'gdm_motion_seg[jazzy]'", file=sys.stderr)
        return 2
    stop, ended = threading.Event(), threading.Event()
    threading.Thread(target=_run, args=(node, stop, ended, bell), name='executor',
                     daemon=True).start()
    # The main thread only waits: Python runs signal handlers there, and a wait within the
    # middleware or a solve would hold them back.
    bell.wait()
    stop.set()
    _leave(in_order=ended.wait(END_WITHIN_S))


def _leave(in_order: bool) -> NoReturn:
    """
    End the process now, without the interpreter's own end.

    A solve or a compilation may still be running in a thread that cannot be interrupted. And even
    where all is in order, unloading everything takes a second on a busy machine, for nothing.
    """
    if in_order:
        atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Bell:
    """
    Wakes a thread that waits; a signal rings it at any moment, whichever thread the signal hits.

    A Python handler runs in the main thread, but not while that waits in the kernel for something
    else than the signal, and a signal that hits another thread does not wake it. So the signal
    itself writes to a pipe (``set_wakeup_fd``), on which the main thread waits.
    ``threading.Event`` would not do in a handler, either: it takes a lock that the interrupted
    thread may hold.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def ring_on(self, *numbers: int) -> None:
        """Let signals ring it; a second one, from the terminal and from launch, does no more."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, _do_nothing)

    def ring(self) -> None:
        """Let whoever waits go on."""
        try:
            os.write(self._writer, b'.')
        except BlockingIOError:
            pass  # the pipe is full: it rang often enough

    def wait(self) -> None:
        """Wait until it rings."""
        os.read(self._reader, 1)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal in Python, so that the process does not end by it."""


def _make_node(args: list[str] | None) -> 'MotionSegNode':
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from gdm_motion_seg.ros.node import MotionSegNode
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        return MotionSegNode()
    except GdmMotionSegError:
        rclpy.shutdown()
        raise


def _run(node: 'MotionSegNode', stop: threading.Event, ended: threading.Event,
         bell: _Bell) -> None:
    """Spin until told to stop, then leave everything in order."""
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    node.autostart()
    while not stop.is_set() and rclpy.ok():
        try:
            executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            break
        except Exception as error:
            # A callback that fails must not take the node down with it.
            node.get_logger().error(f'a callback failed: {type(error).__name__}: {error}')
    bell.ring()
    if node.end(LET_FINISH_S):
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
        ended.set()


if __name__ == '__main__':
    sys.exit(main())
