# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Player of a rosbag2 that does not need ``ros2 bag``."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
import threading
import time

from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import BagReader, MAX_TIME
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.types import ros_types
from gdm_motion_seg_tools.ros.record import message_class
from gdm_motion_seg_tools.ros.session import wait_until

CLOCK = '/clock'
CLOCK_PERIOD_S = 0.01
"""Time between two messages on /clock."""

Transform = Callable[[str, bytes], Iterable[bytes]]


@dataclass(frozen=True)
class Sent:
    """One message that was published."""

    topic: str
    bag_time: int
    """Time of recording in nanoseconds."""
    due: float
    """Planned time of publication (time.monotonic)."""
    at: float
    """Time of publication (time.monotonic)."""


@dataclass(frozen=True)
class _Beginning:
    """Time of recording and time of playing of the first message of a round."""

    bag_time: int
    at: float


class BagPlayer:
    """
    Publishes the serialised messages of a bag at their times.

    Parameters
    ----------
    node
        The node that publishes.
    bag
        A rosbag2, sqlite3 or mcap.
    rate
        Speed; 2 plays twice as fast.
    loop
        Play in a loop, until stopped.
    clock
        Publish /clock, for nodes with use_sim_time.
    reliable
        Offer reliable instead of best-effort delivery.
    topics
        Topics to play, with the names to publish them under; by default all, with their names.
    leave_out
        Topics not to play, if no topics are given.
    transform
        Called with a topic and a serialised message; returns the serialised messages to publish
        instead, none to skip it.

    """

    def __init__(self, node: Node, bag: Path, *, rate: float = 1.0, loop: bool = False,
                 clock: bool = False, reliable: bool = False,
                 topics: Mapping[str, str] | None = None, leave_out: Collection[str] = (),
                 transform: Transform | None = None) -> None:
        """Open the bag and make the publishers; raises InputError if it cannot be played."""
        if bag.suffix == '.bag':
            raise InputError(f'{bag} is a bag of ROS 1; rosbags-convert makes one of ROS 2')
        if not rate > 0:
            raise InputError(f'rate must be positive, got {rate!r}')
        self._node = node
        self._rate, self._loop, self._transform = rate, loop, transform
        self._bag = BagReader(bag)
        if topics is None:
            # With two clocks the time would jump back and forth.
            left_out = {*leave_out, CLOCK} if clock else leave_out
            topics = {topic: topic for topic in self._installed() if topic not in left_out}
        if not topics:
            raise InputError(f'{bag} contains nothing that can be played')
        self._publishers = self._make_publishers(topics, reliable)
        self._clock = node.create_publisher(Clock, CLOCK, 10) if clock else None
        self.sent: list[Sent] = []
        """Messages published in the present round."""
        self._loaded: list[tuple[str, str, int, bytes]] = []

    def _make_publishers(self, topics: Mapping[str, str],
                         reliable: bool) -> dict[str, Publisher]:
        types = self._bag.topics
        for topic in topics:
            if topic not in types:
                raise InputError(f'{self._bag.path} has no topic {topic!r}; it has '
                                 f'{", ".join(sorted(types))}')
        latched = self._bag.latched_topics
        return {topic: self._publisher(types[topic], name, _qos(reliable, topic in latched))
                for topic, name in topics.items()}

    def _publisher(self, kind: str, name: str, qos: QoSProfile) -> Publisher:
        try:
            return self._node.create_publisher(message_class(kind), name, qos)
        except (NameValidationException, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError(f'{name!r} is not a valid topic name: {reason}') from None

    def _installed(self) -> list[str]:
        """Return the topics whose message types are installed."""
        known = []
        for topic, kind in self._bag.topics.items():
            try:
                message_class(kind)
                known.append(topic)
            except InputError as error:
                self._node.get_logger().warning(f'{topic} is not played: {error}')
        return known

    @property
    def duration(self) -> float:
        """Length of the bag in seconds, at rate 1."""
        return self._bag.seconds

    @property
    def message_count(self) -> int:
        """Count the messages of the topics that are played."""
        return sum(map(self._bag.count, self._publishers))

    def load(self) -> None:
        """Read the whole bag into memory, so that reading does not delay messages."""
        self._loaded = [(topic, kind, stamp, bytes(raw))
                        for topic, kind, stamp, raw in self._bag.raw(*self._publishers)]

    def wait_for_subscribers(self, timeout: float, topic: str | None = None,
                             listener: str = '') -> bool:
        """Wait until any node, or the given one, has subscribed to a topic (any by default)."""
        chosen = [self._publishers[topic]] if topic else list(self._publishers.values())
        return wait_until(lambda: any(self._is_heard(p, listener) for p in chosen), timeout)

    def _is_heard(self, publisher: Publisher, listener: str) -> bool:
        if not publisher.get_subscription_count():
            return False
        return not listener or any(
            f'{info.node_namespace.rstrip("/")}/{info.node_name}' == f'/{listener.strip("/")}'
            for info in self._node.get_subscriptions_info_by_topic(publisher.topic_name))

    def play(self, stop: threading.Event | None = None,
             progress: Callable[[int], None] | None = None) -> None:
        """Play the bag; returns at its end, or soon after ``stop`` is set."""
        stop = stop or threading.Event()
        while not stop.is_set():
            self._play_once(stop, progress)
            if not self._loop:
                return

    def _play_once(self, stop: threading.Event, progress: Callable[[int], None] | None) -> None:
        beginning = None
        self.sent.clear()
        messages = self._loaded or self._bag.raw(*self._publishers)
        for count, (topic, _, bag_time, raw) in enumerate(messages, 1):
            if not 0 <= bag_time < MAX_TIME:
                raise InputError(f'{self._bag.path} has a message on {topic} whose time, '
                                 f'{bag_time} ns, is outside the range of ROS')
            beginning = beginning or _Beginning(bag_time, time.monotonic())
            due = beginning.at + (bag_time - beginning.bag_time) / 1e9 / self._rate
            if not self._wait(due, beginning, stop):
                return
            for data in self._transform(topic, raw) if self._transform else (bytes(raw),):
                self._publishers[topic].publish(data)
                self.sent.append(Sent(topic, bag_time, due, time.monotonic()))
            if progress:
                progress(count)

    def _wait(self, due: float, beginning: '_Beginning', stop: threading.Event) -> bool:
        """Wait for the time of a message while /clock is published; False if stopped."""
        while (left := due - time.monotonic()) > 0:
            self._tick(beginning)
            if stop.wait(min(left, CLOCK_PERIOD_S) if self._clock else left):
                return False
        self._tick(beginning)
        return not stop.is_set()

    def _tick(self, beginning: '_Beginning') -> None:
        if self._clock is not None:
            played = (time.monotonic() - beginning.at) * self._rate
            now = beginning.bag_time + round(played * 1e9)
            self._clock.publish(Clock(clock=header_of(ros_types(), now, '').stamp))

    def close(self) -> None:
        """Destroy the publishers and close the bag."""
        for publisher in (*self._publishers.values(), self._clock):
            if publisher is not None:
                self._node.destroy_publisher(publisher)
        self._bag.close()

    def __enter__(self) -> 'BagPlayer':
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the player."""
        self.close()


def _qos(reliable: bool, latched: bool) -> QoSProfile:
    """Return the profile of a publisher; transient local for topics such as /tf_static."""
    if latched:
        return QoSProfile(depth=100, history=HistoryPolicy.KEEP_LAST,
                          reliability=ReliabilityPolicy.RELIABLE,
                          durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return QoSProfile(depth=10, history=HistoryPolicy.KEEP_LAST,
                      reliability=ReliabilityPolicy.RELIABLE if reliable
                      else ReliabilityPolicy.BEST_EFFORT)
