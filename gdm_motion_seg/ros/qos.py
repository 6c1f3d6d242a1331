# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quality of service of the topics, and why two ends do not meet."""

from collections.abc import Iterable

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSCompatibility, qos_check_compatible
from rclpy.qos import QoSProfile, ReliabilityPolicy

from gdm_motion_seg.ros.config import NodeConfig

_RELIABILITY = {'best_effort': ReliabilityPolicy.BEST_EFFORT, 'reliable': ReliabilityPolicy.RELIABLE}

OUTPUT_QOS = QoSProfile(depth=5, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE,
                        durability=DurabilityPolicy.VOLATILE)
"""Reliable, so that every subscriber matches, RViz's default too."""


def image_qos(config: NodeConfig) -> QoSProfile:
    """Return the profile of the image subscription."""
    return QoSProfile(depth=config.image_depth, history=HistoryPolicy.KEEP_LAST,
                      reliability=_RELIABILITY[config.image_reliability],
                      durability=DurabilityPolicy.VOLATILE)


def mismatch(offered: Iterable[QoSProfile], requested: QoSProfile) -> str:
    """Say why a publisher's profile cannot serve the requested one; empty if every one can."""
    for profile in offered:
        verdict, reason = qos_check_compatible(profile, requested)
        if verdict == QoSCompatibility.ERROR:
            return str(reason)
    return ''
