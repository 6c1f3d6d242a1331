# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quality of service of the topics, and reasons why two profiles are incompatible."""

from rclpy.qos import (DurabilityPolicy, HistoryPolicy, qos_check_compatible, QoSCompatibility,
                       QoSProfile, ReliabilityPolicy)

from gdm_motion_seg.ros.config import NodeConfig

_RELIABILITY = {'best_effort': ReliabilityPolicy.BEST_EFFORT,
                'reliable': ReliabilityPolicy.RELIABLE}

OUTPUT_QOS = QoSProfile(depth=5, history=HistoryPolicy.KEEP_LAST,
                        reliability=ReliabilityPolicy.RELIABLE,
                        durability=DurabilityPolicy.VOLATILE)
"""Reliable, so that every subscriber matches, also one with RViz's default."""


IMAGE_DEPTH = {'best_effort': 1, 'reliable': 10}
"""
Images that the subscription queues.

With best effort only the newest image is of use. Users choose reliable delivery to get every
image, so the queue holds the images of a short delay.
"""


def image_qos(config: NodeConfig) -> QoSProfile:
    """Return the profile of the image subscription."""
    return QoSProfile(depth=IMAGE_DEPTH[config.image_reliability], history=HistoryPolicy.KEEP_LAST,
                      reliability=_RELIABILITY[config.image_reliability],
                      durability=DurabilityPolicy.VOLATILE)


def mismatch(offered: QoSProfile, requested: QoSProfile) -> str:
    """Return why a publisher's profile does not satisfy the requested one; empty if it does."""
    verdict, reason = qos_check_compatible(offered, requested)
    if verdict != QoSCompatibility.ERROR:
        return ''
    return ', '.join(part.removeprefix('ERROR:').strip()
                     for part in str(reason).split(';') if part.strip())
