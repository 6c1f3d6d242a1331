# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Receives the results and the overlay images of a running node, for a viewer."""

from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, Queue
import threading
import time
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CompressedImage, PointCloud2

from gdm_motion_seg.decoding import compressed_size
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.msgs.clouds import Rows, stamp_of
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg.ros.diagnostics import MAX_AGE_S

QOS = QoSProfile(depth=5, history=HistoryPolicy.KEEP_LAST,
                 reliability=ReliabilityPolicy.BEST_EFFORT)
"""Best effort, so that a slow viewer does not delay the node."""
FIND_S = 10.0
"""Time limit for the discovery of the node."""
PICTURE_S = 1.0
"""Time for which a result waits for its picture, which the node draws at its own rate."""
POLL_S = 0.1
WAITING = 300
"""Largest number of results that wait for pictures."""
TOPICS = {'keypoints': PointCloud2, 'motions': PointCloud2,
          'debug_image/compressed': CompressedImage}


@dataclass
class NodeFrame:
    """The messages of a node about one image."""

    stamp: int
    arrived: float
    """Arrival of its first message (time.monotonic)."""
    age_s: float
    """Age of the image at that time, by this machine's clock; NaN if the clocks differ."""
    keypoints: Rows | None = None
    motions: Rows | None = None
    jpeg: bytes = b''
    """The overlay; empty for most frames, because it is published at a lower rate."""
    size: tuple[int, int] = (0, 0)
    """Width and height of the overlay."""

    @property
    def answered(self) -> bool:
        """Whether keypoints and motions have arrived."""
        return self.keypoints is not None and self.motions is not None


class NodeListener:
    """Subscribes to the outputs of a node; use it in a ``with`` statement."""

    def __init__(self, name: str) -> None:
        """Find the node; raises InputError if its topics have no publisher."""
        self.name = '/' + name.strip('/')
        self._arrivals: Queue[tuple[str, Any, float]] = Queue(maxsize=WAITING)
        self._context = Context()
        rclpy.init(context=self._context, args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('motion_seg_view', context=self._context)
        for topic, kind in TOPICS.items():
            self._node.create_subscription(kind, f'{self.name}/{topic}', self._taker(topic), QOS)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name='view_listen', daemon=True)
        self._thread.start()
        if not self._found():
            self.close()
            raise InputError(f'{self.name}/motions has no publisher: is the node running, and in '
                             'the same ROS_DOMAIN_ID?')

    def __enter__(self) -> 'NodeListener':
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Stop listening."""
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()
        self._context.try_shutdown()

    def frames(self) -> Iterator[NodeFrame]:
        """Yield the results in order of arrival, until the listener is closed."""
        waiting: dict[int, NodeFrame] = {}
        while True:
            try:
                topic, message, arrived = self._arrivals.get(timeout=POLL_S)
                frame = self._frame_of(message, arrived, waiting)
                _put(frame, topic, message)
            except Empty:
                pass
            except InputError:  # skip a bad message
                continue
            yield from _ready(waiting, time.monotonic())

    def _frame_of(self, message: Any, arrived: float, waiting: dict[int, NodeFrame]
                  ) -> NodeFrame:
        stamp = stamp_of(message.header)
        if stamp not in waiting:
            age = time.time() - stamp / 1e9
            waiting[stamp] = NodeFrame(stamp, arrived,
                                       age if abs(age) < MAX_AGE_S else float('nan'))
        return waiting[stamp]

    def _taker(self, topic: str) -> Any:
        def take(message: Any) -> None:
            if not self._arrivals.full():
                self._arrivals.put((topic, message, time.monotonic()))
        return take

    def _found(self) -> bool:
        deadline = time.monotonic() + FIND_S
        while not self._node.count_publishers(f'{self.name}/motions'):
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        return True

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass


def _put(frame: NodeFrame, topic: str, message: Any) -> None:
    if topic == 'keypoints':
        frame.keypoints = rows_from_cloud(message)
    elif topic == 'motions':
        frame.motions = rows_from_cloud(message)
    else:
        frame.jpeg = bytes(message.data)
        frame.size = compressed_size(frame.jpeg)


def _ready(waiting: dict[int, NodeFrame], now: float) -> Iterator[NodeFrame]:
    """Remove and return the frames up to the newest picture, and those that waited too long."""
    # In order of arrival: stamps jump back when a recording is played again.
    stamps = list(waiting)
    pictured = max((i for i, stamp in enumerate(stamps)
                    if waiting[stamp].jpeg and waiting[stamp].answered), default=-1)
    for i, stamp in enumerate(stamps):
        frame = waiting[stamp]
        if i <= pictured or now - frame.arrived > PICTURE_S or len(waiting) > WAITING:
            del waiting[stamp]
            if frame.answered:
                yield frame
