# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node from the start of its process to the end."""

import atexit
import os
import resource
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn, TYPE_CHECKING

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.heap import keep_frame_buffers
from gdm_motion_seg.ros.heap import share_heaps

if TYPE_CHECKING:
    from gdm_motion_seg.ros.node import MotionSegNode

END_WITHIN_S = 1.2
"""After a signal the process ends within this time, even during a solve."""
LET_FINISH_S = 0.5
"""How long the frame that is being worked on may still take then."""
DONE, WRONG = 0, 2
NO_MEMORY = 'there is not enough memory'
HEADROOM_BYTES = 700_000_000
"""Address space that the middleware and the compiler take after the import; both hang or abort
where it is limited (prlimit --as) to less."""


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, and end the process; the exit code is 2 on errors."""
    keep_frame_buffers()
    share_heaps()
    problem = _load()
    if problem:
        print(f'motion_seg_node: {problem}', file=sys.stderr)
        return WRONG
    wake_up = _WakeUp()
    wake_up.on_signals(signal.SIGINT, signal.SIGTERM)
    life = _Life(args, wake_up)
    # The main thread only waits: Python runs signal handlers there, and a wait within the
    # middleware or a solve would hold them back.
    try:
        threading.Thread(target=life.run, name='executor', daemon=True).start()
    except RuntimeError:  # can't start new thread
        print(f'motion_seg_node: {NO_MEMORY}', file=sys.stderr)
        return WRONG
    wake_up.wait()
    life.stop.set()
    # The executor has a moment to shut down in order.
    _leave(life.code, in_order=life.ended.wait(END_WITHIN_S))


def _load() -> str:
    """Import what takes time; returns a sentence if that is not possible."""
    try:
        import rclpy  # noqa: F401

        import gdm_motion_seg.ros.node  # noqa: F401
    except ModuleNotFoundError as error:
        return (f'it needs ROS 2 ({error}): source its set-up, or '
                "pip install 'gdm_motion_seg[jazzy]'")
    except MemoryError:
        return NO_MEMORY
    except (GdmMotionSegError, ImportError, OSError) as error:
        return _one_line(error)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _address_space() + HEADROOM_BYTES:
        return f'{NO_MEMORY}: the limit of {limit / 1e9:.1f} GB of address space is too low'
    return ''


def _address_space() -> int:
    """Return the address space that the process has now, in bytes."""
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
    End the process now, without the interpreter's own end.

    A solve or a compilation may still be running in a thread that cannot be interrupted. And even
    where all is in order, unloading everything takes a second on a busy machine, for nothing.
    """
    if in_order:
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # the reader is gone
    os._exit(code)


class _WakeUp:
    """
    Wakes up a waiting thread, also from a signal that arrives in any thread at any moment.

    A Python handler runs in the main thread, but not while that waits in the kernel for something
    else than the signal, and a signal that hits another thread does not wake it. So the signal
    itself writes to a pipe (``set_wakeup_fd``), on which the main thread waits.
    ``threading.Event`` would not do in a handler, either: it takes a lock that the interrupted
    thread may hold.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def on_signals(self, *numbers: int) -> None:
        """Let signals set it; a second signal, from the terminal or from launch, has no effect."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, _do_nothing)

    def set(self) -> None:
        """Let the waiting thread continue."""
        try:
            os.write(self._writer, b'.')
        except BlockingIOError:
            pass  # the pipe is full: it is set

    def wait(self) -> None:
        """Wait until it is set."""
        os.read(self._reader, 1)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal in Python, so that the process does not end by it."""


class _Life:
    """The node from its beginning to its end, in a thread of its own."""

    def __init__(self, args: list[str] | None, wake_up: _WakeUp) -> None:
        self._args, self._wake_up = args, wake_up
        self.stop, self.ended = threading.Event(), threading.Event()
        self.code = DONE

    def run(self) -> None:
        """Make the node and spin it until told to stop, then leave everything in order."""
        try:
            node = _make_node(self._args)
            if not self.stop.is_set():
                _spin(node, self.stop)
            self._wake_up.set()
            _end(node)
        except GdmMotionSegError as error:
            self._fail(str(error))
        except MemoryError:
            self._fail(NO_MEMORY)
        except Exception as error:  # the middleware raises anything
            self._fail(_one_line(error))
        finally:
            self.ended.set()
            self._wake_up.set()

    def _fail(self, sentence: str) -> None:
        if self.stop.is_set():
            return  # what fails after a signal is of no interest
        self.code = WRONG
        print(f'motion_seg_node: {sentence}', file=sys.stderr)


def _make_node(args: list[str] | None) -> 'MotionSegNode':
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from gdm_motion_seg.ros.node import MotionSegNode
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        return MotionSegNode()
    except BaseException:
        rclpy.try_shutdown()
        raise


def _spin(node: 'MotionSegNode', stop: threading.Event) -> None:
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # As a task: the node answers services while it compiles.
    executor.create_task(node.autostart)
    while not stop.is_set() and rclpy.ok():
        try:
            executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            break
        except Exception as error:
            # A callback that fails must not take the node down with it.
            node.get_logger().error(f'a callback failed: {type(error).__name__}: {error}')
            stop.wait(0.01)  # nor keep a processor busy, if it fails each time
    executor.shutdown(timeout_sec=0.0)


def _end(node: 'MotionSegNode') -> None:
    """Leave the graph and the shared memory, unless a frame cannot be waited for."""
    import rclpy
    if node.end(LET_FINISH_S):
        node.destroy_node()
        rclpy.try_shutdown()
