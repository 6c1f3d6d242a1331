# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiling takes minutes on a fresh machine; the node is not mute meanwhile."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from rclpy.parameter import Parameter  # noqa: E402, I100

from gdm_motion_seg.ros import node as node_module  # noqa: E402, I100
from gdm_motion_seg_tools.ros.record import DIAGNOSTICS, Recorder  # noqa: E402


def test_diagnostics_go_on_while_the_node_compiles(session, monkeypatch):
    recorder = Recorder(session.node, {})
    states = []

    def compiling(_):
        assert recorder.wait_for(lambda: len(recorder.records(DIAGNOSTICS)) >= 3, 60)
        states.extend(pair.value for message in recorder.messages(DIAGNOSTICS)
                      for status in message.status for pair in status.values
                      if pair.key == 'state')

    monkeypatch.setattr(node_module, 'warm_up', compiling)
    node = node_module.MotionSegNode(
        context=session.node.context,
        parameter_overrides=[Parameter('diagnostics_period_s', value=0.1)])
    try:
        # Nobody spins the node: whatever comes does so while it configures.
        assert node.trigger_configure() == node_module.SUCCESS
    finally:
        node.destroy_node()
        recorder.close()
    assert len(states) >= 3 and set(states) == {'configuring'}
