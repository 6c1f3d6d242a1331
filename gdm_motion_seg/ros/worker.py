# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A worker thread with a queue of length one, in which the newest item replaces an older one."""

from collections.abc import Callable
import threading
from typing import Generic, TypeVar

Item = TypeVar('Item')


class NewestWins(Generic[Item]):
    """
    Passes items to a worker thread; an item that still waits when the next one comes is dropped.

    ``handle`` runs in the worker thread, and may return a time in seconds for which the worker
    then rests. Its exceptions are passed to ``on_error``, and the worker continues. A call that
    does not end can be abandoned; a new thread then continues.
    """

    def __init__(self, handle: Callable[[Item], float | None],
                 on_error: Callable[[Exception], None], name: str = 'motion_seg_worker') -> None:
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

    def _is_current(self) -> bool:
        return self._running and self._thread is threading.current_thread()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting is not None or not self._is_current())
                item = self._waiting
                if item is None or not self._is_current():
                    return
                self._waiting = None
            rest = None
            try:
                rest = self._handle(item)
            except Exception as error:
                self._on_error(error)
            del item  # an image may be large, and the next one late
            if rest:
                with self._changed:
                    self._changed.wait_for(lambda: not self._is_current(), rest)
