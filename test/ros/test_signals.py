# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals end the node, whenever and however many of them come."""

from itertools import cycle
import signal

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from lifecycle_msgs.srv import GetState  # noqa: E402, I100

from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402, I100

BOTH = (signal.SIGINT, signal.SIGTERM)


def test_many_signals_at_once_end_the_node_as_one_does(session, tmp_path):
    with NodeProcess({'autostart': False}, log=tmp_path / 'log') as node:
        session.call(GetState, '/motion_seg/get_state', GetState.Request(), 180)
        for _, number in zip(range(1000), cycle(BOTH)):
            node.process.send_signal(number)
        assert node.process.wait(60) == 0
        # The middleware of Kilted warns of an environment variable that Jazzy's needs.
        assert all('is deprecated' in line for line in node.output().splitlines()), node.output()


@pytest.mark.parametrize('number', BOTH)
def test_a_signal_while_the_node_starts_is_not_lost(tmp_path, number):
    from gdm_motion_seg.ros.session import wait_until
    with NodeProcess(log=tmp_path / 'log', arguments=['--log-level', 'debug']) as node:
        # The first words come from the middleware, long before the node can be asked anything.
        assert wait_until(lambda: node.output() != '', 180)
        node.process.send_signal(number)
        assert node.process.wait(180) == 0
        assert 'Traceback' not in node.output()
