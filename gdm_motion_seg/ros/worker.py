# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Worker threads with a queue of length one, in which the newest item replaces an older one."""

from collections.abc import Callable
import threading
import time
from typing import Generic, TypeVar

Item = TypeVar('Item')
Half = TypeVar('Half')


class NewestWins(Generic[Item]):
    """
    Passes items to a worker thread; an item that still waits when the next one comes is dropped.

    ``handle`` runs in the worker thread. Its exceptions are passed to ``on_error``, and the worker
    continues. A call that does not end can be abandoned; a new thread then continues.
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
            self._thread = self._start()  # the thread waits for the lock first

    def put(self, item: Item) -> bool:
        """Hand over an item without waiting; returns whether an older one was dropped for it."""
        with self._changed:
            dropped = self._waiting is not None
            self._waiting = item
            self._changed.notify_all()
        return dropped

    def stop(self, timeout: float | None = None) -> bool:
        """Let the worker finish its item and end; returns False on a timeout."""
        with self._changed:
            self._running = False
            self._waiting = None
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Continue in a new thread; the old one ends when its present call ends."""
        with self._changed:
            if self._running:
                self._thread = self._start()

    def _start(self) -> threading.Thread:
        # A daemon thread, so that a call that does not end cannot keep the process alive.
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
    Two workers in series: the first handles the next item while the second finishes the last.

    The first returns the item for the second, or None. ``on_drop`` is called for each item that is
    dropped between the two because a newer one comes.
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
        """Let both finish their items and end; returns False on a timeout."""
        deadline = time.monotonic() + timeout
        first = self._first.stop(timeout)
        return self._second.stop(max(0.0, deadline - time.monotonic())) and first

    def abandon_second(self) -> None:
        """Replace the thread of the second worker, because its present call does not end."""
        self._second.abandon()

    def _hand_on(self, item: Item) -> None:
        half = self._handle(item)
        if half is not None and self._second.put(half):
            self._on_drop()
