# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/detections``: boxes of the moving bodies, if vision_msgs is installed."""

from importlib import import_module
from typing import Any

from gdm_motion_seg.pipeline import FrameResult

CLASS_ID = 'moving'
"""Class of every detection."""


def vision_messages() -> Any | None:
    """Return the module ``vision_msgs.msg``; None if it is not installed."""
    try:
        return import_module('vision_msgs.msg')
    except ImportError:
        return None


def detections_array(vision: Any, header: Any, result: FrameResult) -> Any:
    """
    Build the vision_msgs/Detection2DArray of a frame: one detection per body.

    ``vision`` is the module with the message classes.
    """
    array = vision.Detection2DArray()
    array.header = header
    array.detections = [_detection(vision, header, motion) for motion in result.motions
                        if not motion.is_world]
    return array


def _detection(vision: Any, header: Any, motion: Any) -> Any:
    left, top, right, bottom = (float(v) for v in motion.box)
    detection = vision.Detection2D()
    detection.header = header
    detection.id = str(motion.id)
    detection.bbox.center.position.x = 0.5 * (left + right)
    detection.bbox.center.position.y = 0.5 * (top + bottom)
    detection.bbox.size_x, detection.bbox.size_y = right - left, bottom - top
    hypothesis = vision.ObjectHypothesisWithPose()
    hypothesis.hypothesis.class_id = CLASS_ID
    hypothesis.hypothesis.score = float(motion.moving)
    detection.results = [hypothesis]
    return detection
