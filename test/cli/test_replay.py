# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``replay``, over real DDS."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from gdm_motion_seg.cli.main import main  # noqa: E402, I100
from gdm_motion_seg.ros.process import dds_environment  # noqa: E402
from gdm_motion_seg.ros.record import Recorder  # noqa: E402
from gdm_motion_seg.ros.session import Session  # noqa: E402


@pytest.fixture
def quiet_domain(monkeypatch):
    """Keep everything in a domain of this process's own."""
    for name, value in dds_environment().items():
        monkeypatch.setenv(name, value)


def test_a_topic_is_played_under_another_name_with_the_clock(small_bag, quiet_domain, capsys):
    folder, truth = small_bag
    with Session() as session:
        recorder = Recorder(session.node, {'/eye': 'sensor_msgs/msg/Image',
                                           '/clock': 'rosgraph_msgs/msg/Clock'})
        assert main(['replay', str(folder), '--topic', '/camera/image_raw:=/eye', '--reliable',
                     '--clock', '--rate', '2', '--wait', '60']) == 0
        assert recorder.wait_for(lambda: len(recorder.records('/eye')) == 16, 30)
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec
                  for m in recorder.messages('/eye')]
        recorder.close()
    assert stamps == [frame.stamp for frame in truth.frames]
    assert '16 messages' in capsys.readouterr().out


def test_a_bag_is_played_even_if_nobody_listens(small_bag, quiet_domain, capsys):
    assert main(['replay', str(small_bag[0]), '--rate', '20', '--wait', '0.1']) == 0
    printed = capsys.readouterr()
    assert '32 messages' in printed.out and 'nobody listens' in printed.err


@pytest.mark.parametrize('words, complaint', [
    (['nothing'], 'nothing'), (['BAG', '--topic', '/none'], "no topic '/none'")])
def test_what_cannot_be_played_is_one_sentence(small_bag, quiet_domain, capsys, words, complaint):
    assert main(['replay', *(str(small_bag[0]) if w == 'BAG' else w for w in words)]) == 2
    error = capsys.readouterr().err
    assert complaint in error and error.count('\n') == 1
