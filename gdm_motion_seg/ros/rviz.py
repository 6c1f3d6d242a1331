# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Starts RViz with the frame_id of the images as its fixed frame.

RViz can only show data whose frame has a transform to the fixed frame, and a camera without TF has
no other frame than its own. This module waits for the first image or calibration, and then
replaces itself by RViz:
``python3 -m gdm_motion_seg.ros.rviz /camera/image_raw rviz2 -d layout.rviz``.
"""

from collections.abc import Sequence
import os
import sys
import time
from typing import Any, NoReturn

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

WAIT_S = 60.0
"""Time to wait for an image; after it RViz starts with the fixed frame of its layout."""


def first_frame_id(image_topic: str, timeout: float = WAIT_S) -> str:
    """Return the frame_id of the first image, raw or compressed; empty on a timeout."""
    found: list[str] = []

    def take(message: Any) -> None:
        if message.header.frame_id:
            found.append(message.header.frame_id)

    plain = image_topic.removesuffix('/compressed')
    topics = {plain: Image, f'{plain}/compressed': CompressedImage,
              f'{plain.rpartition("/")[0]}/camera_info': CameraInfo}
    context = Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('motion_seg_rviz_frame', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        for topic, kind in topics.items():
            node.create_subscription(kind, topic, take, qos_profile_sensor_data)
        deadline = time.monotonic() + timeout
        while not found and (left := deadline - time.monotonic()) > 0:
            executor.spin_once(timeout_sec=min(left, 0.2))
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
    return found[0] if found else ''


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Wait, then replace this process by the command that follows the topic."""
    image_topic, *command = sys.argv[1:] if argv is None else argv
    try:
        frame_id = first_frame_id(image_topic)
    except KeyboardInterrupt:
        sys.exit(130)
    if not frame_id:
        print(f'no image on {image_topic} for {WAIT_S:g} s: RViz starts with the fixed frame of '
              'its layout', file=sys.stderr)
    os.execvp(command[0], [command[0], *(('-f', frame_id) if frame_id else ()), *command[1:]])


if __name__ == '__main__':
    main()
