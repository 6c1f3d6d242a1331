# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services that can wait without blocking the executor."""

from collections.abc import Awaitable, Callable
from functools import wraps
import threading
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

ServiceCallback = Callable[[Any, Any], Any]
AsyncWrapper = Callable[[ServiceCallback, Any, Any], Awaitable[Any]]


def in_thread(node: Node, function: Callable[[], Any]) -> Future:
    """Run a function in a new thread; returns a future for the node's executor."""
    future = Future(executor=node.executor)

    def run() -> None:
        try:
            result = function()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    # A daemon thread does not keep the process alive.
    threading.Thread(target=run, name=function.__class__.__name__, daemon=True).start()
    return future


def make_async(node: Node, name: str, wrapper: AsyncWrapper) -> None:
    """
    Replace the callback of a service that rclpy has made by a coroutine.

    ``name`` is the last part of the service's name, for instance ``set_parameters``; ``wrapper``
    is called with rclpy's own callback, the request and the response.
    """
    service: Any = next(s for s in node.services if s.srv_name.rpartition('/')[2] == name)
    callback = service.callback

    @wraps(callback)
    async def handle(request: Any, response: Any) -> Any:
        return await wrapper(callback, request, response)

    service.callback = handle
    # In the callback group of the node, the coroutine would block all other callbacks.
    service.callback_group = ReentrantCallbackGroup()
    service.callback_group.add_entity(service)
