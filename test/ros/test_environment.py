# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node in an environment without the usual variables."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402, I100
from gdm_motion_seg_tools.ros.session import wait_until  # noqa: E402


def test_the_node_starts_if_home_is_not_set(compiled, tmp_path, monkeypatch):
    for name in ('HOME', 'ROS_HOME', 'ROS_LOG_DIR'):
        monkeypatch.delenv(name, raising=False)
    with NodeProcess(log=tmp_path / 'log') as node:
        assert wait_until(lambda: 'ready after' in node.output(), 300), node.output()
        assert node.stop() == 0
