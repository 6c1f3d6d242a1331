# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executable ``motion_seg_node``."""

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.ros.heap import return_large_buffers

if TYPE_CHECKING:
    from gdm_motion_seg.ros.node import MotionSegNode

END_WITHIN_S = 1.2
"""After a signal the process ends within this time, even during a solve."""
LET_FINISH_S = 0.5
"""How long the frame that is being worked on may still take then."""


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    return_large_buffers()
    bell = _Bell()
    # Before everything that takes time, so that no signal finds the process unprepared.
    signal.signal(signal.SIGINT, bell.on_signal)
    signal.signal(signal.SIGTERM, bell.on_signal)
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
    if not ended.wait(END_WITHIN_S):
        # A solve or a compilation is still running in a thread that cannot be interrupted.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    return 0


class _Bell:
    """
    Wakes a thread that waits; a signal handler may ring it at any moment.

    A handler runs between any two steps of the main thread. ``threading.Event`` takes a lock: if
    the thread holds it just then, or a second signal finds the handler of the first within it, it
    waits for itself for ever.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal; a second one, from the terminal and from launch, changes nothing."""
        self.ring()

    def ring(self) -> None:
        """Let whoever waits go on."""
        try:
            os.write(self._writer, b'.')
        except BlockingIOError:
            pass  # the pipe is full: it rang often enough

    def wait(self) -> None:
        """Wait until it rings."""
        os.read(self._reader, 1)


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
