# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""One worker and a slot of one: the newest item wins, work never queues up."""

from collections.abc import Callable
import threading
from typing import Generic, TypeVar

Item = TypeVar('Item')


class NewestWins(Generic[Item]):
    """
    Hands items to one thread; one that still waits when the next comes is dropped.

    ``handle`` runs in the worker's thread. What it raises goes to ``on_error``, and the worker
    lives on.
    """

    def __init__(self, handle: Callable[[Item], None],
                 on_error: Callable[[Exception], None]) -> None:
        """Start the thread."""
        self._handle = handle
        self._on_error = on_error
        self._waiting: Item | None = None
        self._running = True
        self._changed = threading.Condition()
        # A daemon, so that a solve that hangs cannot keep the process alive.
        self._thread = threading.Thread(target=self._run, name='motion_seg_worker', daemon=True)
        self._thread.start()

    def put(self, item: Item) -> bool:
        """Hand over an item without waiting; returns whether an older one was dropped for it."""
        with self._changed:
            dropped = self._waiting is not None
            self._waiting = item
            self._changed.notify()
        return dropped

    def stop(self, timeout: float | None = None) -> bool:
        """Let the worker finish what it does and end; returns False if it did not in time."""
        with self._changed:
            self._running = False
            self._waiting = None
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _take(self) -> Item | None:
        """Wait for an item; None to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting is not None or not self._running)
            item, self._waiting = self._waiting, None
        return item

    def _run(self) -> None:
        while (item := self._take()) is not None:
            try:
                self._handle(item)
            except Exception as error:
                self._on_error(error)
