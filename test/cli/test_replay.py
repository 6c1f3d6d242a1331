# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``replay``, over real DDS."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402, I100

from gdm_motion_seg.cli.main import main  # noqa: E402, I100
from gdm_motion_seg.ros.process import dds_environment  # noqa: E402
from gdm_motion_seg_tools.ros.record import (  # noqa: E402
    message_class, Record, Recorder, write_bag)
from gdm_motion_seg_tools.ros.replay import BagPlayer  # noqa: E402
from gdm_motion_seg_tools.ros.session import Session, wait_until  # noqa: E402


@pytest.fixture
def quiet_domain(monkeypatch):
    """Use a private domain."""
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


def test_a_bag_is_played_even_without_a_subscriber(small_bag, quiet_domain, capsys):
    assert main(['replay', str(small_bag[0]), '--rate', '20', '--wait', '0.1']) == 0
    printed = capsys.readouterr()
    assert '32 messages' in printed.out and 'there is no subscriber' in printed.err


def test_the_bag_waits_for_the_node_that_is_named_and_not_for_others(small_bag, quiet_domain,
                                                                     capsys):
    topic = '/camera/image_raw'
    words = ['replay', str(small_bag[0]), '--rate', '20', '--leave-out', '/camera/camera_info']
    with Session('eye') as session:
        recorder = Recorder(session.node, {topic: 'sensor_msgs/msg/Image'})
        assert main([*words, '--reliable', '--wait', '60', '--wait-for', '/eye']) == 0
        assert recorder.wait_for(lambda: len(recorder.records(topic)) == 16, 30)
        assert main([*words, '--wait', '0.5', '--wait-for', '/ear']) == 0
        recorder.close()
    printed = capsys.readouterr()
    assert printed.out.count('16 messages') == 2
    assert printed.err.count('is not subscribed') == 1 and '/ear is not subscribed' in printed.err


def test_the_clock_of_a_bag_is_replaced_by_that_of_the_player(tmp_path, quiet_domain, capsys):
    kinds = {'/clock': 'rosgraph_msgs/msg/Clock', '/noise': 'std_msgs/msg/Empty'}
    write_bag(tmp_path / 'bag', [Record(topic, bytes(12), 0.0, 10 ** 9) for topic in kinds],
              kinds)
    assert main(['replay', str(tmp_path / 'bag')]) == 0
    assert '2 messages' in capsys.readouterr().out
    assert main(['replay', str(tmp_path / 'bag'), '--clock']) == 0
    assert '1 messages' in capsys.readouterr().out
    assert main(['replay', str(tmp_path / 'bag'), '--clock', '--leave-out', '/noise']) == 2
    assert 'contains nothing that can be played' in capsys.readouterr().err


def test_transient_local_messages_reach_late_subscribers(tmp_path, quiet_domain):
    from rosbags.interfaces import (Qos, QosDurability, QosHistory, QosLiveliness,
                                    QosReliability, QosTime)
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import get_typestore, Stores
    forever = QosTime(0, 0)
    qos = Qos(QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL,
              forever, forever, QosLiveliness.AUTOMATIC, forever, False)
    with Writer(tmp_path / 'bag', version=9) as writer:
        for topic, profiles in (('/map', [qos]), ('/noise', [])):
            connection = writer.add_connection(topic, 'std_msgs/msg/Empty',
                                               typestore=get_typestore(Stores.ROS2_JAZZY),
                                               offered_qos_profiles=profiles)
            writer.write(connection, 10 ** 9, bytes([0, 1, 0, 0, 0]))
    with Session() as session, BagPlayer(session.node, tmp_path / 'bag') as player:
        player.play()
        late = []
        for topic in ('/map', '/noise'):
            session.node.create_subscription(
                message_class('std_msgs/msg/Empty'), topic,
                lambda _, topic=topic: late.append(topic),
                QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL
                           if topic == '/map' else DurabilityPolicy.VOLATILE))
        assert wait_until(lambda: late == ['/map'], 30)


def test_one_or_several_ctrl_c_end_a_replay_with_exit_code_0(small_bag, tmp_path):
    log = tmp_path / 'log'
    with Session() as session, log.open('wb') as output:
        recorder = Recorder(session.node, {'/camera/image_raw': 'sensor_msgs/msg/Image'})
        player = subprocess.Popen(
            [sys.executable, '-m', 'gdm_motion_seg', 'replay', str(small_bag[0]), '--loop',
             '--reliable'], stdout=output, stderr=output, env={**os.environ, **dds_environment()})
        assert recorder.wait_for(lambda: len(recorder.records('/camera/image_raw')) > 2, 120)
        for _ in range(50):
            player.send_signal(signal.SIGINT)
        assert player.wait(60) == 0
        recorder.close()
    assert 'Traceback' not in log.read_text()


@pytest.mark.parametrize('words, complaint', [
    (['nothing'], 'nothing'), (['BAG', '--topic', '/none'], "no topic '/none'")])
def test_a_bag_that_cannot_be_played_is_refused_with_one_sentence(small_bag, quiet_domain,
                                                                  capsys, words, complaint):
    assert main(['replay', *(str(small_bag[0]) if w == 'BAG' else w for w in words)]) == 2
    error = capsys.readouterr().err
    assert complaint in error and error.count('\n') == 1
