# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executable ``motion_seg_node``."""

import os
import signal
import sys
import threading
from types import FrameType

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.ros.heap import return_large_buffers
from gdm_motion_seg.ros.node import MotionSegNode

END_WITHIN_S = 1.2
"""After a signal the process ends within this time, even during a solve."""
LET_FINISH_S = 0.5
"""How long the frame that is being worked on may still take then."""


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    return_large_buffers()
    stop, ended = threading.Event(), threading.Event()

    def on_signal(number: int, _: FrameType | None) -> None:
        stop.set()  # a second one, from the terminal and from launch, changes nothing

    # The main thread only waits: Python runs signal handlers there, and a wait within the
    # middleware or a solve would hold them back.
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = MotionSegNode()
    except GdmMotionSegError as error:
        print(f'motion_seg_node: {error}', file=sys.stderr)
        rclpy.shutdown()
        return 2
    threading.Thread(target=_run, args=(node, stop, ended), name='executor', daemon=True).start()
    stop.wait()
    if not ended.wait(END_WITHIN_S):
        # A solve or a compilation is still running in a thread that cannot be interrupted.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    return 0


def _run(node: MotionSegNode, stop: threading.Event, ended: threading.Event) -> None:
    """Spin until told to stop, then leave everything in order."""
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
    stop.set()
    if node.end(LET_FINISH_S):
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
        ended.set()


if __name__ == '__main__':
    sys.exit(main())
