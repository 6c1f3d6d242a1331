# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Print what moves: a subscriber to the node's topic ``motions``.

    python what_moves.py --ros-args -r motions:=/motion_seg/motions
"""

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2

from gdm_motion_seg.msgs.reading import rows_from_cloud


class WhatMoves(Node):
    """Prints the bodies that move."""

    def __init__(self) -> None:
        """Subscribe to the motions."""
        super().__init__('what_moves')
        self.create_subscription(PointCloud2, 'motions', self.show, 5)

    def show(self, message: PointCloud2) -> None:
        """Print one line per body."""
        for row in rows_from_cloud(message):
            if not row['world']:
                left, top, right, bottom = row['box']
                self.get_logger().info(
                    f'body {row["id"]} moves ({row["moving"]:.0%} sure): {row["count"]} points in '
                    f'[{left:.0f}, {right:.0f}] x [{top:.0f}, {bottom:.0f}]')


def main() -> None:
    """Run until Ctrl-C."""
    rclpy.init()
    rclpy.spin(WhatMoves())


if __name__ == '__main__':
    main()
