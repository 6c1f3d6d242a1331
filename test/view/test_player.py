# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pause, step, play and again, with files and with live feeds."""

import threading

import pytest
from sights import sight_at

from gdm_motion_seg.view.player import Player, State

LONG_S = 60.0


class Notebook:
    """A screen that records what it shows."""

    def __init__(self):
        self.shown, self.told, self.cleared = [], [], 0
        self._changed = threading.Condition()

    def _note(self, change):
        with self._changed:
            change()
            self._changed.notify_all()

    def show(self, sight):
        self._note(lambda: self.shown.append(sight.moment.stamp // 10**8 - 10))

    def tell(self, state, note):
        self._note(lambda: self.told.append((state, note)))

    def clear(self):
        self.cleared += 1

    def wait_for(self, condition):
        with self._changed:
            assert self._changed.wait_for(condition, LONG_S)


class Feed:
    """A feed that gives frames on request, and counts them."""

    def __init__(self, count=10**9):
        self.count, self.taken = count, 0

    def __call__(self):
        for index in range(self.count):
            self.taken += 1
            yield sight_at(index)


@pytest.fixture
def screen():
    """Return a screen."""
    return Notebook()


def run_aside(player, feed, wait_at_end=False):
    thread = threading.Thread(target=player.run, args=(feed, wait_at_end), daemon=True)
    thread.start()
    return thread


def test_every_frame_of_a_file_is_shown_in_order(screen):
    Player(screen, live=False).run(Feed(4), wait_at_end=False)
    assert screen.shown == [0, 1, 2, 3]
    assert screen.told[-1] == (State.ENDED, '')


def test_a_paused_file_waits_and_steps_one_frame_at_a_time(screen):
    player, feed = Player(screen, live=False), Feed(6)
    player.pause()
    thread = run_aside(player, feed)
    for count in (1, 2, 3):
        player.step()
        screen.wait_for(lambda: len(screen.shown) == count)
        assert player.state is State.PAUSED
    # At most one frame is read ahead.
    assert feed.taken <= 4
    player.play()
    thread.join(LONG_S)
    assert screen.shown == [0, 1, 2, 3, 4, 5]


def test_a_paused_live_feed_continues_and_a_step_shows_the_newest_frame(screen):
    player, more = Player(screen, live=True), threading.Semaphore(0)
    player.pause()

    def feed():
        for index in range(20):
            assert more.acquire(timeout=LONG_S)
            yield sight_at(index)

    thread = run_aside(player, feed)
    for _ in range(11):
        more.release()
    player.step()
    for _ in range(9):
        more.release()
    thread.join(LONG_S)
    assert len(screen.shown) == 1


def test_again_begins_at_the_first_frame(screen):
    player = Player(screen, live=False)
    run_aside(player, Feed(2), wait_at_end=True)
    screen.wait_for(lambda: (State.ENDED, '') in screen.told)
    player.again()
    screen.wait_for(lambda: len(screen.shown) == 4)
    assert screen.shown == [0, 1, 0, 1] and screen.cleared == 2


def test_only_again_restarts_a_feed_that_has_ended(screen):
    player = Player(screen, live=False)
    player.run(Feed(1), wait_at_end=False)
    for command in (player.pause, player.play, player.step):
        command()
    assert player.state is State.ENDED


def test_the_reason_why_a_feed_ended_is_shown(screen):
    player = Player(screen, live=True)
    player.fail('camera 0 stopped after 3 images')
    assert screen.told == [(State.ENDED, 'camera 0 stopped after 3 images')]
