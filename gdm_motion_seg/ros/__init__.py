# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ROS 2 node; the only package that imports rclpy."""

import os

# rcl keeps its logs below the home folder, and cannot start if HOME is not set (as in a service).
if not os.environ.get('HOME'):
    home = os.path.expanduser('~')
    os.environ['HOME'] = home if os.path.isabs(home) else '/tmp'
    del home
