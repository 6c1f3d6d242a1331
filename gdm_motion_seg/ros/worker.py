# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Workers with a slot of one: the newest item wins, work never queues up."""

from collections.abc import Callable
import threading
import time
from typing import Generic, TypeVar

Item = TypeVar('Item')
Half = TypeVar('Half')


class NewestWins(Generic[Item]):
    """
    Hands items to one thread; one that still waits when the next comes is dropped.

    ``handle`` runs in the worker's thread. What it raises goes to ``on_error``, and the worker
    lives on. A call of it that does not end can be abandoned: another thread continues.
    """

    def __init__(self, handle: Callable[[Item], None], on_error: Callable[[Exception], None],
                 name: str = 'motion_seg_worker') -> None:
        """Start the thread."""
        self._handle = handle
        self._on_error = on_error
        self._name = name
        self._waiting: Item | None = None
        self._running = True
        self._changed = threading.Condition()
        with self._changed:
            self._thread = self._start()  # it waits for the lock before it asks who it is

    def put(self, item: Item) -> bool:
        """Hand over an item without waiting; returns whether an older one was dropped for it."""
        with self._changed:
            dropped = self._waiting is not None
            self._waiting = item
            self._changed.notify_all()
        return dropped

    def stop(self, timeout: float | None = None) -> bool:
        """Let the worker finish what it does and end; returns False if it did not in time."""
        with self._changed:
            self._running = False
            self._waiting = None
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Go on in a new thread; the old one ends when the call that it is in does."""
        with self._changed:
            if self._running:
                self._thread = self._start()

    def _start(self) -> threading.Thread:
        # A daemon, so that a solve that hangs cannot keep the process alive.
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        thread.start()
        return thread

    def _take(self) -> Item | None:
        """Wait for an item; None to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting is not None or not self._is_current())
            if not self._is_current():
                return None
            item, self._waiting = self._waiting, None
        return item

    def _is_current(self) -> bool:
        return self._running and self._thread is threading.current_thread()

    def _run(self) -> None:
        while (item := self._take()) is not None:
            try:
                self._handle(item)
            except Exception as error:
                self._on_error(error)


class Relay(Generic[Item, Half]):
    """
    Two workers in a row: the first takes up the next item while the second finishes the last.

    The first returns what it hands on, or None for nothing. ``on_drop`` is called for everything
    that made room for something newer on its way from the first to the second.
    """

    def __init__(self, first: Callable[[Item], Half | None], second: Callable[[Half], None],
                 on_error: Callable[[Exception], None], on_drop: Callable[[], None]) -> None:
        """Start both threads."""
        self._handle, self._on_drop = first, on_drop
        self._second = NewestWins(second, on_error, 'motion_seg_second')
        self._first = NewestWins(self._hand_on, on_error, 'motion_seg_first')

    def put(self, item: Item) -> bool:
        """Hand over an item without waiting; returns whether an older one was dropped for it."""
        return self._first.put(item)

    def stop(self, timeout: float) -> bool:
        """Let both finish what they do and end; returns False if they did not in time."""
        deadline = time.monotonic() + timeout
        first = self._first.stop(timeout)
        return self._second.stop(max(0.0, deadline - time.monotonic())) and first

    def abandon_second(self) -> None:
        """Let another thread be the second worker, because a call of the present one hangs."""
        self._second.abandon()

    def _hand_on(self, item: Item) -> None:
        half = self._handle(item)
        if half is not None and self._second.put(half):
            self._on_drop()
