# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recorder of messages over DDS, with a writer of rosbag2."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
import threading
import time
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message as deserialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.msgs.results import vision_messages
from gdm_motion_seg.ros.diagnostics import LISTENERS

DEPTH = 1000
"""Depth of a subscription, so that a delayed recorder gets everything."""
DIAGNOSTICS = '/diagnostics'
OUTPUTS = {
    '/motion_seg/keypoints': 'sensor_msgs/msg/PointCloud2',
    '/motion_seg/motions': 'sensor_msgs/msg/PointCloud2',
    '/motion_seg/markers': 'visualization_msgs/msg/MarkerArray',
    '/motion_seg/debug_image': 'sensor_msgs/msg/Image',
    '/motion_seg/debug_image/compressed': 'sensor_msgs/msg/CompressedImage',
    '/motion_seg/mask': 'sensor_msgs/msg/Image',
    '/motion_seg/instances': 'sensor_msgs/msg/Image',
    **({} if vision_messages() is None else {
        '/motion_seg/detections': 'vision_msgs/msg/Detection2DArray'}),
    DIAGNOSTICS: 'diagnostic_msgs/msg/DiagnosticArray',
}
"""Topics and types of everything that the node publishes, in the root namespace; detections only
where vision_msgs is installed, as in the node."""


def message_class(name: str) -> Any:
    """Return ROS 2's class of a message type such as ``sensor_msgs/msg/Image``."""
    try:
        package, _, kind = name.split('/')
        return getattr(import_module(f'{package}.msg'), kind)
    except (ValueError, ImportError, AttributeError):
        raise InputError(f'the message type {name!r} is not installed') from None


@dataclass(frozen=True)
class Record:
    """One received message."""

    topic: str
    raw: bytes
    """Serialised (CDR)."""
    at: float
    """Time of arrival (time.monotonic)."""
    wall: int
    """Time of arrival in nanoseconds since 1970."""


class Recorder:
    """Subscribes to topics and keeps their messages."""

    def __init__(self, node: Node, topics: Mapping[str, str] | None = None,
                 keep: int | None = None) -> None:
        """
        Subscribe.

        Parameters
        ----------
        node
            The node that subscribes.
        topics
            Names and types; OUTPUTS by default. The diagnostics are always included.
        keep
            Number of messages that are kept, the newest ones; all by default.

        """
        self._node = node
        self._types = {DIAGNOSTICS: OUTPUTS[DIAGNOSTICS]}
        self._types |= OUTPUTS if topics is None else topics
        self._records: deque[Record] = deque(maxlen=keep)
        self._heard: set[str] = set()
        self._count = 0
        self._changed = threading.Condition()
        qos = QoSProfile(depth=DEPTH, history=HistoryPolicy.KEEP_LAST,
                         reliability=ReliabilityPolicy.RELIABLE)
        self._subscriptions = [
            node.create_subscription(message_class(kind), topic, partial(self._take, topic), qos,
                                     raw=True)
            for topic, kind in self._types.items()]

    def _take(self, topic: str, raw: bytes) -> None:
        record = Record(topic, raw, time.monotonic(), time.time_ns())
        heard = _heard(raw) if topic == DIAGNOSTICS else set()
        with self._changed:
            self._heard |= heard
            self._records.append(record)
            self._count += 1
            self._changed.notify_all()

    def records(self, topic: str | None = None) -> list[Record]:
        """Return the messages so far, of one topic or of all."""
        with self._changed:
            return [r for r in self._records if topic is None or r.topic == topic]

    def messages(self, topic: str) -> list[Any]:
        """Return the messages of one topic, deserialised."""
        kind = message_class(self._types[topic])
        return [deserialize_message(record.raw, kind) for record in self.records(topic)]

    def last(self, topic: str) -> Any:
        """Return the newest message of a topic; None if there is none."""
        records = self.records(topic)
        return deserialize_message(records[-1].raw, message_class(self._types[topic])) \
            if records else None

    def clear(self) -> None:
        """Forget the messages so far."""
        with self._changed:
            self._records.clear()

    @property
    def heard(self) -> set[str]:
        """Return the topics with subscribers, according to the diagnostics of the node."""
        with self._changed:
            return set(self._heard)

    def wait_for_publishers(self, timeout: float) -> bool:
        """
        Wait until the node's publishers and this recorder have discovered each other.

        If a publisher is discovered here, it may not have discovered this recorder yet. So the
        diagnostics of the node must show the subscriptions.
        """
        wanted = self._types.keys() - {DIAGNOSTICS}
        return self.wait_for(lambda: wanted <= self._heard, timeout)

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds; it is checked whenever a message comes."""
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                seen = self._count
            # Without the lock: a slow condition must not delay messages.
            if condition():
                return True
            with self._changed:
                if not self._changed.wait_for(lambda: self._count != seen,
                                              deadline - time.monotonic()):
                    return condition()

    def write(self, path: Path) -> None:
        """Write everything as a rosbag2 (mcap); the folder must not exist."""
        write_bag(path, self.records(), self._types)

    def close(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()


def _heard(raw: bytes) -> set[str]:
    """Return the topics with subscribers, according to the diagnostics of a node."""
    message = deserialize_message(raw, message_class(OUTPUTS[DIAGNOSTICS]))
    return {f'{status.hardware_id}/{pair.key.removeprefix(LISTENERS)}'
            for status in message.status for pair in status.values
            if pair.key.startswith(LISTENERS) and pair.value != '0'}


def write_bag(path: Path, records: list[Record], types: Mapping[str, str]) -> None:
    """
    Write records as a rosbag2 in the mcap format.

    Topics of a type that rosbags has no definition of (vision_msgs) are left out.
    """
    if path.exists():
        raise InputError(f'{path} exists already')
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {topic: writer.add_connection(topic, kind, typestore=store)
                       for topic, kind in types.items() if kind in store.types}
        for record in records:
            if record.topic in connections:
                writer.write(connections[record.topic], record.wall, record.raw)
