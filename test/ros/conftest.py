# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The other end of the node's topics, for tests over real DDS between two processes."""

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from gdm_motion_seg.ros.session import Session  # noqa: E402, I100


@pytest.fixture(scope='module')
def session():
    """Give a node of this process in a domain of its own."""
    with Session() as this:
        yield this
