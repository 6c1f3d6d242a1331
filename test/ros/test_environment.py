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


@pytest.mark.parametrize('name', ['ROS_LOG_DIR', 'ROS_HOME', 'HOME'])
def test_the_node_starts_and_says_so_once_if_its_log_cannot_be_written(compiled, tmp_path,
                                                                       monkeypatch, name):
    for other in ('ROS_LOG_DIR', 'ROS_HOME'):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, '/proc/nowhere')
    with NodeProcess(log=tmp_path / 'log') as node:
        assert wait_until(lambda: 'ready after' in node.output(), 300), node.output()
        assert node.stop() == 0
    assert node.output().count('no log is kept in /proc/nowhere') == 1
