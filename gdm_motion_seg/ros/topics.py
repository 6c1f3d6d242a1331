# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node's topics: their quality of service, and the publishers of its outputs."""

from typing import Any

from rclpy.lifecycle import LifecycleNode
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image, PointCloud2
from visualization_msgs.msg import MarkerArray

from gdm_motion_seg.msgs.results import vision_messages
from gdm_motion_seg.ros import processor
from gdm_motion_seg.ros.config import NodeConfig

OUTPUT_DEPTH = 5
"""Messages that a publisher queues, reliable and volatile as is the default of rclpy: so every
subscriber matches, also one with RViz's default."""
IMAGE_DEPTH = {'best_effort': 1, 'reliable': 10}
"""Images that the subscription queues. With best effort only the newest one is of use. Users
choose reliable delivery to get every image, so the queue holds the images of a short delay."""
_TOPICS: dict[str, Any] = {
    processor.KEYPOINTS: PointCloud2, processor.MOTIONS: PointCloud2,
    processor.MARKERS: MarkerArray, processor.DEBUG_IMAGE: Image,
    processor.DEBUG_COMPRESSED: CompressedImage, processor.MASK: Image, processor.INSTANCES: Image}


def image_qos(config: NodeConfig) -> QoSProfile:
    """Return the profile of the image subscription."""
    return QoSProfile(depth=IMAGE_DEPTH[config.image_reliability],
                      reliability=ReliabilityPolicy[config.image_reliability.upper()])


def mismatch(offered: QoSProfile, requested: QoSProfile) -> str:
    """Return why a publisher's profile does not satisfy the requested one; empty if it does."""
    verdict, reason = qos_check_compatible(offered, requested)
    if verdict != QoSCompatibility.ERROR:
        return ''
    return ', '.join(part.removeprefix('ERROR:').strip()
                     for part in str(reason).split(';') if part.strip())


class Publishers:
    """The :class:`~gdm_motion_seg.ros.processor.Outputs` of a node."""

    def __init__(self, node: LifecycleNode) -> None:
        """Make the publishers."""
        self._node, topics = node, dict(_TOPICS)
        if vision := vision_messages():
            topics[processor.DETECTIONS] = vision.Detection2DArray
        else:
            node.get_logger().info('vision_msgs is not installed: ~/detections is not published')
        self._publishers = {
            name: node.create_lifecycle_publisher(kind, f'~/{name}', OUTPUT_DEPTH)
            for name, kind in topics.items()}

    def wanted(self, name: str) -> bool:
        """Whether the output has a subscriber; otherwise it is not computed."""
        publisher = self._publishers.get(name)
        return publisher is not None and publisher.get_subscription_count() > 0

    def publish(self, name: str, message: Any) -> None:
        """Send a message."""
        self._publishers[name].publish(message)

    def listeners(self) -> dict[str, int]:
        """Return the number of subscribers of each output."""
        return {name: publisher.get_subscription_count()
                for name, publisher in self._publishers.items()}

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher in self._publishers.values():
            self._node.destroy_lifecycle_publisher(publisher)
        self._publishers.clear()
