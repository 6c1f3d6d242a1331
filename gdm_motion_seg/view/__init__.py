# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Viewers of results outside of ROS: a live page, a page in one file, Rerun.

The node never imports this package. It needs the extra ``view``: tornado serves the page, PyAV
writes the video that browsers play.
"""
