# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A ROS 2 context with one node that spins in the background."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack
import signal
import threading
import time
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.ros.process import dds_here

POLL_S = 0.01
AGAIN_S = 5.0


class Session:
    """
    A separate context, by default in a private domain; use it in a ``with`` statement.

    Parameters
    ----------
    name
        Name of the node.
    domain
        ROS_DOMAIN_ID; by default :func:`~gdm_motion_seg.ros.process.private_domain`.
    private
        False joins the domain and the settings of the environment, as any other node does.

    """

    def __init__(self, name: str = 'gdm_motion_seg_client', domain: int | None = None,
                 private: bool = True) -> None:
        """Make the node and spin it."""
        self._context = Context()
        with ExitStack() as stack:
            if private:
                stack.enter_context(dds_here(domain))
            rclpy.init(context=self._context, args=[],
                       signal_handler_options=SignalHandlerOptions.NO)
            self.node: Node = rclpy.create_node(name, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def call(self, service_type: Any, service: str, request: Any, timeout: float = 10.0,
             again: float = AGAIN_S) -> Any:
        """
        Call a service and return its response.

        If a server is discovered here, it may not have discovered this client yet, and its
        response may get lost (or the server was just killed). So the request is sent ``again``
        after this many seconds; use infinity for a request that must not be repeated.
        """
        client = self.node.create_client(service_type, service)
        deadline, futures = time.monotonic() + timeout, []
        try:
            if not client.wait_for_service(timeout):
                raise GdmMotionSegError(f'there is no service {service}')
            while (left := deadline - time.monotonic()) > 0:
                futures.append(client.call_async(request))
                if wait_until(lambda: any(f.done() for f in futures), min(left, again)):
                    return next(f for f in futures if f.done()).result()
            raise GdmMotionSegError(f'{service} did not answer within {timeout:g} s')
        finally:
            self.node.destroy_client(client)

    def close(self) -> None:
        """End the node and its context."""
        with _undisturbed():
            self._executor.shutdown()
            self._thread.join()
            self.node.destroy_node()
            self._context.try_shutdown()

    def __enter__(self) -> 'Session':
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the session."""
        self.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore SIGINT during the block: launch and the terminal both send one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    """Wait for a condition; returns False on a timeout."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
