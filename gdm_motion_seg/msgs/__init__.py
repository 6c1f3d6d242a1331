# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of results to standard ROS messages, and of image messages to arrays."""
