# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ROS 2 node; the only package that imports rclpy."""
