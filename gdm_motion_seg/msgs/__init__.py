# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results to standard ROS messages and images back from them, without ROS."""
