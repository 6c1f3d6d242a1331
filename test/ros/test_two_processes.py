# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node in a child process: life cycle, parameters, services and signals over DDS."""

from itertools import count, islice
from pathlib import Path
import threading
import time

import cv2
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
psutil = pytest.importorskip('psutil')

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402, I100
from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterValue  # noqa: E402
from rcl_interfaces.srv import DescribeParameters, SetParametersAtomically  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import CompressedImage, Image  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from gdm_motion_seg.errors import GdmMotionSegError  # noqa: E402, I100
from gdm_motion_seg.msgs.clouds import stamp_of  # noqa: E402
from gdm_motion_seg.msgs.reading import rows_from_cloud  # noqa: E402
from gdm_motion_seg.msgs.types import ros_types  # noqa: E402
from gdm_motion_seg.ros.config import NodeConfig  # noqa: E402
from gdm_motion_seg.ros.process import NodeProcess  # noqa: E402
from gdm_motion_seg.ros.segments import remove_abandoned, segments_of  # noqa: E402
from gdm_motion_seg.settings import settings_of  # noqa: E402
from gdm_motion_seg_tools.ros.record import DIAGNOSTICS, Recorder  # noqa: E402
from gdm_motion_seg_tools.ros.session import Session, wait_until  # noqa: E402

KEYPOINTS = '/motion_seg/keypoints'
CLOUD = 'sensor_msgs/msg/PointCloud2'
CYCLES = 10
ONCE = float('inf')
FAST = {'diagnostics_period_s': 0.1}
RELIABLE = {**FAST, 'image_reliability': 'reliable'}


def camera(session):
    """Return a publisher of images."""
    return session.node.create_publisher(Image, 'image', 1)


def diagnostics(recorder):
    """Yield the diagnostics of the node /motion_seg, newest first; other nodes have some, too."""
    for record in reversed(recorder.records(DIAGNOSTICS)):
        message = deserialize_message(record.raw, DiagnosticArray)
        if message.status[0].hardware_id == '/motion_seg':
            yield message


def values_of(recorder):
    """Return the values of the last diagnostics."""
    return {pair.key: pair.value for message in islice(diagnostics(recorder), 1)
            for status in message.status for pair in status.values}


def say(recorder, text):
    """Whether a message of the diagnostics so far contains a text."""
    return any(text in status.message for message in diagnostics(recorder)
               for status in message.status)


@pytest.fixture
def recorder(session):
    """Return a recorder of the keypoints."""
    this = Recorder(session.node, {KEYPOINTS: CLOUD})
    yield this
    this.close()


def feed(scene, images, recorder, indices, start=10**9):
    """Send frames one by one and wait for the answer to each."""
    for index in indices:
        moment = scene.moment(ros_types(), index, start)
        known = len(recorder.records(KEYPOINTS))
        images.publish(moment.message())
        assert recorder.wait_for(lambda: len(recorder.records(KEYPOINTS)) > known, 180)


STATE_AFTER = {Transition.TRANSITION_CONFIGURE: 'inactive',
               Transition.TRANSITION_ACTIVATE: 'active',
               Transition.TRANSITION_DEACTIVATE: 'inactive',
               Transition.TRANSITION_CLEANUP: 'unconfigured'}


def change_state(session, transition):
    """Request a transition once; returns whether it succeeded."""
    request = ChangeState.Request(transition=Transition(id=transition))
    try:
        return session.call(ChangeState, '/motion_seg/change_state', request, 60, ONCE).success
    except GdmMotionSegError:  # On a busy machine the response may get lost.
        return state(session) == STATE_AFTER[transition]


def state(session, node='/motion_seg'):
    """Return a node's state in the life cycle."""
    return session.call(GetState, f'{node}/get_state', GetState.Request(), 180) \
        .current_state.label


def test_configure_activate_deactivate_cleanup_ten_times_with_images_leaves_nothing_behind(
        session, scene, tmp_path, recorder):
    images, stop = camera(session), threading.Event()

    def play():
        index = 0
        while not stop.wait(0.02):
            moment = scene.moment(ros_types(), index % 26, 10**9 + (index // 26) * 10**9)
            images.publish(moment.message())
            index += 1

    threads, memory = [], []
    with NodeProcess({'autostart': False, **FAST}, log=tmp_path / 'log') as node:
        camera_thread = threading.Thread(target=play)
        camera_thread.start()
        try:
            for _ in range(CYCLES):
                assert state(session) == 'unconfigured'
                assert change_state(session, Transition.TRANSITION_CONFIGURE)
                assert images.get_subscription_count() == 0
                assert change_state(session, Transition.TRANSITION_ACTIVATE)
                known = len(recorder.records(KEYPOINTS))
                assert recorder.wait_for(
                    lambda: len(recorder.records(KEYPOINTS)) > known + 3, 180), node.output()
                assert change_state(session, Transition.TRANSITION_DEACTIVATE)
                assert wait_until(lambda: images.get_subscription_count() == 0, 20)
                assert change_state(session, Transition.TRANSITION_CLEANUP)
                assert wait_until(lambda: session.node.count_publishers(KEYPOINTS) == 0, 20)
                process = psutil.Process(node.process.pid)
                threads.append(process.num_threads())
                memory.append(process.memory_info().rss / 2**20)
        finally:
            stop.set()
            camera_thread.join()
        assert node.stop() == 0
        assert 'Traceback' not in node.output()
    session.node.destroy_publisher(images)
    assert threads[-1] <= threads[0], threads
    assert memory[-1] - memory[1] < 20, memory


@pytest.mark.parametrize('transition', [
    Transition(id=Transition.TRANSITION_ACTIVATE), Transition(label='activate'),
    Transition(id=Transition.TRANSITION_CLEANUP), Transition(id=250), Transition(label='fly')],
    ids=str)
def test_a_transition_that_is_not_possible_now_is_refused_in_a_response(session, idle, transition):
    request = ChangeState.Request(transition=transition)
    assert not session.call(ChangeState, f'{IDLE}/change_state', request, 60).success
    assert state(session, IDLE) == 'unconfigured'
    assert 'Traceback' not in idle.output()


IDLE = '/idle/motion_seg'


@pytest.fixture(scope='module')
def idle(session, tmp_path_factory):
    """Return an unconfigured node."""
    log = tmp_path_factory.mktemp('idle') / 'log'
    with NodeProcess({'autostart': False}, log=log, arguments=['-r', '__ns:=/idle']) as node:
        assert state(session, IDLE) == 'unconfigured'
        yield node
        assert node.stop() == 0


def hanging_node(log):
    """Return a node whose segmentation of the second frame never ends."""
    node = NodeProcess({'tracking.frame_gap': 1, **RELIABLE}, log=log)
    node._command[1:3] = [str(Path(__file__).with_name('hanging_node.py'))]
    return node


def feed_until_it_hangs(node, scene, images, recorder):
    """Send two frames, of which the second is never answered."""
    assert wait_until(images.get_subscription_count, 120), node.output()
    assert recorder.wait_for_publishers(180), node.output()
    feed(scene, images, recorder, [0])
    images.publish(scene.moment(ros_types(), 1).message())
    assert recorder.wait_for(lambda: values_of(recorder).get('received') == '2', 180)
    assert values_of(recorder)['answered'] == '1'


def test_after_a_frame_was_abandoned_the_node_publishes_again(session, scene, tmp_path, recorder):
    images = camera(session)
    with hanging_node(tmp_path / 'log') as node:
        feed_until_it_hangs(node, scene, images, recorder)
        assert change_state(session, Transition.TRANSITION_DEACTIVATE)
        assert 'abandoned a frame' in node.output()
        assert change_state(session, Transition.TRANSITION_ACTIVATE)
        assert wait_until(images.get_subscription_count, 60), node.output()
        feed(scene, images, recorder, range(2, 5))
        assert recorder.wait_for(lambda: values_of(recorder).get('answered') == '4', 60)
        assert len(rows_from_cloud(recorder.last(KEYPOINTS)))
        assert values_of(recorder)['published'] == '4'
        assert node.stop() == 0
    session.node.destroy_publisher(images)


def test_a_reset_abandons_a_frame_that_does_not_end(session, scene, tmp_path, recorder):
    images = camera(session)
    with hanging_node(tmp_path / 'log') as node:
        feed_until_it_hangs(node, scene, images, recorder)
        assert session.call(Trigger, '/motion_seg/reset', Trigger.Request()).success
        feed(scene, images, recorder, range(2, 5))
        assert len(rows_from_cloud(recorder.last(KEYPOINTS)))
        assert recorder.wait_for(lambda: values_of(recorder).get('abandoned') == '1', 60)
        assert node.stop() == 0
    session.node.destroy_publisher(images)


def test_sigint_during_a_segmentation_ends_the_node_with_exit_code_0(session, scene, tmp_path,
                                                                     recorder,
                                                                     record_testsuite_property):
    images = camera(session)
    with hanging_node(tmp_path / 'log') as node:
        feed_until_it_hangs(node, scene, images, recorder)
        start = time.monotonic()
        code = node.stop()
        seconds = time.monotonic() - start
        # It should end within 2 s. Tests do not depend on the load, so it may take longer here;
        # NodeProcess kills a node that takes much longer, and the exit code is then not 0.
        record_testsuite_property('seconds_from_sigint_to_end', round(seconds, 3))
        print(f'ended {seconds:.2f} s after SIGINT')
        assert code == 0, node.output()
        assert 'Traceback' not in node.output()
    session.node.destroy_publisher(images)


@pytest.fixture(scope='module')
def running(session, scene, tmp_path_factory):
    """Return a running node that several tests use, its camera and a listener."""
    log = tmp_path_factory.mktemp('node') / 'log'
    listener, images = Recorder(session.node, {KEYPOINTS: CLOUD}), camera(session)
    with NodeProcess({**scene.settings, **RELIABLE}, log=log) as node:
        assert wait_until(images.get_subscription_count, 120), node.output()
        assert listener.wait_for_publishers(180), node.output()
        yield node, images, listener
        assert node.stop() == 0
    session.node.destroy_publisher(images)
    listener.close()


def test_every_answer_carries_the_stamp_and_the_frame_id_of_its_image(running, scene):
    node, images, listener = running
    listener.clear()
    feed(scene, images, listener, range(10), start=2 * 10**12)
    clouds = listener.messages(KEYPOINTS)
    stamps = [scene.moment(ros_types(), index, 2 * 10**12).stamp for index in range(10)]
    assert [stamp_of(cloud.header) for cloud in clouds] == stamps
    assert {cloud.header.frame_id for cloud in clouds} == {'camera'}
    assert scene.share_right(rows_from_cloud(clouds[-1]), 9) > 0.95


def set_parameters(session, **values):
    """Set parameters together; returns the result."""
    kinds = {bool: (1, 'bool_value'), int: (2, 'integer_value'), float: (3, 'double_value'),
             str: (4, 'string_value')}
    parameters = []
    for name, value in values.items():
        number, field = kinds[type(value)]
        parameters.append(Parameter(name=name.replace('__', '.'), value=ParameterValue(
            type=number, **{field: value})))
    return session.call(SetParametersAtomically, '/motion_seg/set_parameters_atomically',
                        SetParametersAtomically.Request(parameters=parameters)).result


def test_a_parameter_that_may_change_takes_effect_between_two_frames(session, running, scene):
    node, images, listener = running
    feed(scene, images, listener, range(8), start=3 * 10**12)
    assert set_parameters(session, tracking__max_tracks=60, tracking__frame_gap=2).successful
    feed(scene, images, listener, range(8, 14), start=3 * 10**12)
    assert 0 < len(rows_from_cloud(listener.last(KEYPOINTS))) <= 60
    assert set_parameters(session, tracking__max_tracks=500, tracking__frame_gap=5).successful


@pytest.mark.parametrize('values, reason', [
    ({'tracking__max_tracks': 3}, 'range'),
    ({'tracking__max_tracks': 'many'}, 'type'),
    ({'segmentation__method': 'magic'}, 'segmentation.method must be one of gdm'),
    ({'image_transport': 'compressed'}, 'read-only'),
    ({'colour': 3}, 'undeclared'),
    ({'tracking__mask_path': '/nowhere/mask.png'}, 'there is no file'),
    ({'tracking__frame_gap': 3, 'segmentation__method': 'magic'}, 'must be one of'),
    ({'tracking__mask_path': '/' + 300 * 'x'}, 'File name too long'),
    ({'tracking__mask_path': 'null\0byte'}, 'mask_path must be an image file'),
    ({'tracking__mask_path': '/proc/self/mem'}, 'mask_path must be an image file'),
    ({'segmentation__method': 'gdm-paper'}, 'n_motions must be at least 1'),
])
def test_a_bad_value_is_refused_with_a_reason(session, running, values, reason):
    result = set_parameters(session, **values)
    assert not result.successful
    assert reason in result.reason


@pytest.mark.parametrize('width, height', [(40000, 30000), (20000, 20000)])
def test_a_mask_that_claims_to_be_huge_is_refused_before_it_takes_memory(session, running,
                                                                         tmp_path, width, height):
    data = bytearray(cv2.imencode('.png', np.full((8, 8), 255, np.uint8))[1].tobytes())
    data[16:24] = width.to_bytes(4, 'big') + height.to_bytes(4, 'big')
    path = tmp_path / 'mask.png'
    path.write_bytes(data)
    result = set_parameters(session, tracking__mask_path=str(path))
    assert not result.successful and f'{width} x {height} pixels' in result.reason


def test_an_accepted_mask_is_used_even_if_its_file_is_removed(session, running, scene, tmp_path):
    node, images, listener = running
    path = tmp_path / 'mask.png'
    half = np.full((240, 320), 255, np.uint8)
    half[:, :160] = 0
    cv2.imwrite(str(path), half)
    assert set_parameters(session, tracking__mask_path=str(path)).successful
    path.unlink()
    assert set_parameters(session, tracking__max_tracks=400, jpeg_quality=70).successful
    feed(scene, images, listener, range(8), start=7 * 10**12)
    rows = rows_from_cloud(listener.last(KEYPOINTS))
    assert len(rows) and rows['u_prev'].min() > 150
    assert set_parameters(session, tracking__mask_path='', tracking__max_tracks=500).successful
    assert not set_parameters(session, tracking__mask_path=str(path)).successful


def extremes():
    """Return every setting that may change while the node runs, with its limits or choices."""
    for setting in settings_of(NodeConfig):
        if setting.runtime and setting.type is not str:
            values = {bool: (False, True)}.get(setting.type, (setting.low, setting.high))
            yield setting, [setting.type(value) for value in values if value is not None]
        elif setting.runtime and setting.choices:
            yield setting, list(setting.choices)


def test_every_setting_can_be_set_to_its_limits_while_images_come(session, running, scene):
    node, images, listener = running
    frames = count()
    for setting, values in extremes():
        for value in (*values, setting.default):
            index = next(frames)
            images.publish(scene.moment(ros_types(), index % 26, (100 + index // 26) * 10**12)
                           .message())
            result = set_parameters(session, **{setting.name: value})
            # A refusal must be about this setting, such as a method that needs n_motions.
            assert result.successful or 'must be' in result.reason, (setting.name, value)
    for name, value in {**scene.settings, **FAST}.items():
        assert set_parameters(session, **{name: value}).successful
    feed(scene, images, listener, range(8), start=10**15)
    assert len(rows_from_cloud(listener.last(KEYPOINTS)))
    assert 'Traceback' not in node.output() and node.alive


def test_a_parameter_of_a_type_that_does_not_exist_is_refused_in_a_response(session, running):
    request = SetParametersAtomically.Request(parameters=[
        Parameter(name='jpeg_quality', value=ParameterValue(type=77))])
    result = session.call(SetParametersAtomically, '/motion_seg/set_parameters_atomically',
                          request).result
    assert not result.successful and '77' in result.reason


def test_diagnostics_are_published_even_if_their_period_changes_often(session, running):
    node, images, listener = running
    periods = iter([30.0, 40.0] * 1000)
    assert set_parameters(session, diagnostics_period_s=0.5).successful
    listener.clear()
    # Each change restarts a timer of half a second.
    deadline = time.monotonic() + 60
    while len(list(diagnostics(listener))) < 3 and time.monotonic() < deadline:
        assert set_parameters(session, diagnostics_period_s=next(periods)).successful
        assert set_parameters(session, diagnostics_period_s=0.5).successful
    assert len(list(diagnostics(listener))) >= 3
    assert set_parameters(session, diagnostics_period_s=0.1).successful


def test_parameters_describe_themselves(session, running):
    names = ['tracking.max_tracks', 'segmentation.gdm.epsilon', 'image_transport']
    tracks, epsilon, transport = session.call(
        DescribeParameters, '/motion_seg/describe_parameters',
        DescribeParameters.Request(names=names)).descriptors
    assert tracks.integer_range[0].from_value == 8
    assert epsilon.floating_point_range[0].to_value == 1.0
    assert 'empirical dimension' in epsilon.description
    assert transport.read_only
    assert 'raw, compressed' in transport.additional_constraints


def test_reset_forgets_the_tracks(session, running, scene):
    node, images, listener = running
    feed(scene, images, listener, range(8), start=4 * 10**12)
    assert len(rows_from_cloud(listener.last(KEYPOINTS)))
    assert session.call(Trigger, '/motion_seg/reset', Trigger.Request()).success
    feed(scene, images, listener, [8], start=4 * 10**12)
    assert len(rows_from_cloud(listener.last(KEYPOINTS))) == 0


def test_the_diagnostics_have_rates_latencies_drops_tracks_and_motions(running):
    node, images, listener = running
    assert listener.wait_for(lambda: values_of(listener).get('tracks', '0') != '', 20)
    values = values_of(listener)
    for key in ('rate (Hz)', 'received', 'dropped', 'refused', 'answered', 'failed', 'tracks',
                'latency p50 (ms)', 'latency p95 (ms)', 'motions', 'last problem', 'topic'):
        assert key in values


def test_messages_are_built_only_for_subscribers(session, running, scene):
    node, images, listener = running
    assert values_of(listener)['listeners of debug_image'] == '0'
    overlay = Recorder(session.node, {'/motion_seg/debug_image': 'sensor_msgs/msg/Image'})
    assert overlay.wait_for_publishers(20)
    feed(scene, images, listener, range(3), start=5 * 10**12)
    assert overlay.wait_for(lambda: overlay.records('/motion_seg/debug_image'), 20)
    picture = overlay.last('/motion_seg/debug_image')
    assert (picture.width, picture.height, picture.encoding) == (320, 240, 'bgr8')
    overlay.close()


def test_diagnostics_report_a_missing_or_incompatible_publisher(session, tmp_path):
    listener = Recorder(session.node, {})
    quick = {'watchdog_s': 0.5, **RELIABLE}
    with NodeProcess(quick, {'image': '/front/image_raw'}, log=tmp_path / 'log') as node:
        assert listener.wait_for(
            lambda: say(listener, '/front/image_raw has no publisher'), 180), node.output()
        other_topic = session.node.create_publisher(Image, '/rear/image_raw', 1)
        assert listener.wait_for(lambda: any(
            status.message.startswith('/front/image_raw has no publisher; there are images on')
            and '/rear/image_raw' in status.message
            for message in islice(diagnostics(listener), 1)
            for status in message.status), 180), node.output()
        assert node.output().count('/front/image_raw has no publisher') == 1, 'logged once'
        session.node.destroy_publisher(other_topic)
        wrong = session.node.create_publisher(Image, '/front/image_raw', qos_profile_sensor_data)
        assert listener.wait_for(lambda: say(
            listener, 'gdm_motion_seg_client publishes on /front/image_raw with a quality of '
            'service that cannot be received: Best effort publisher and reliable subscription'),
            180), node.output()
        session.node.destroy_publisher(wrong)
        with Session('other') as other:
            other.node.create_publisher(CompressedImage, '/front/image_raw', 1)
            assert listener.wait_for(lambda: say(
                listener, 'other publishes on /front/image_raw sensor_msgs/msg/CompressedImage '
                'instead of sensor_msgs/msg/Image'), 180), node.output()
        assert node.stop() == 0
    listener.close()


@pytest.mark.parametrize('settings, sentence', [
    ({'tracking.max_track': 100},
     "there is no parameter called 'tracking.max_track'; did you mean 'tracking.max_tracks'?"),
    ({'tracking.max_tracks': 3}, 'tracking.max_tracks must lie in 8 to 20000, got 3'),
    ({'tracking.max_tracks': 'many'}, "tracking.max_tracks must be of type int, got 'many'"),
    ({'segmentation.method': 'magic'}, 'segmentation.method must be one of gdm'),
    ({'tracking.mask_path': '/nowhere/mask.png'}, 'there is no file'),
])
def test_a_bad_start_value_ends_the_node_with_one_sentence(settings, sentence, tmp_path):
    node, segments = NodeProcess(settings, log=tmp_path / 'log').start(), set()
    while node.alive:
        segments |= segments_of(node.process.pid)
        time.sleep(0.005)
    assert node.process.wait(60) == 2
    assert sentence in node.output()
    assert 'Traceback' not in node.output()
    assert segments and not remove_abandoned(segments), 'it left its shared memory behind'


@pytest.mark.parametrize('arguments, environment, sentence', [
    (['-r', '__ns:=bad//ns'], {}, "Couldn't parse remap rule"),
    (['--params-file', '/nowhere.yaml'], {}, "Couldn't parse params file"),
    ([], {'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce'},
     'the middleware must be built with security'),
], ids=['namespace', 'parameter file', 'security'])
def test_arguments_that_the_middleware_refuses_end_the_node_with_one_sentence_and_code_2(
        arguments, environment, sentence, tmp_path, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    node = NodeProcess(log=tmp_path / 'log', arguments=arguments).start()
    assert node.process.wait(180) == 2
    last = node.output().splitlines()[-1]
    assert last.startswith('motion_seg_node: ') and sentence in last
    assert 'Traceback' not in node.output()


def test_a_node_starts_with_an_old_parameter_file_and_names_removed_parameters(session, tmp_path):
    old = tmp_path / 'old.yaml'
    old.write_text('/**:\n  ros__parameters:\n    autostart: false\n    publish_motions: true\n'
                   '    stream:\n      hold_frames: 4\n'
                   '    tracking:\n      frame_gap_s: 0.4\n      frame_gap: 7\n')
    with NodeProcess(log=tmp_path / 'log',
                     arguments=['--params-file', str(old), '-r', '__ns:=/old']) as node:
        from rcl_interfaces.srv import GetParameters
        names = ['tracking.frame_gap', 'tracking.gap_s']
        values = session.call(GetParameters, '/old/motion_seg/get_parameters',
                              GetParameters.Request(names=names), 180).values
        assert values[0].integer_value == 7
        assert values[1].double_value == NodeConfig().tracking.gap_s
        assert node.stop() == 0
    for name in ('publish_motions', 'stream.hold_frames', 'tracking.frame_gap_s'):
        assert f"the parameter '{name}' does not exist any more: " in node.output()
    assert 'its new name is tracking.gap_s; its value is ignored' in node.output()


def test_the_parameter_file_of_the_package_is_accepted(session, tmp_path):
    from gdm_motion_seg.resources import resource
    path = resource('config', 'motion_seg.yaml')
    text = path.read_text().replace('max_tracks: 1500', 'max_tracks: 123')
    changed = tmp_path / 'changed.yaml'
    changed.write_text(text)
    with NodeProcess({'autostart': False}, log=tmp_path / 'log',
                     arguments=['--params-file', str(changed), '-r', '__ns:=/robot']) as node:
        from rcl_interfaces.srv import GetParameters
        values = session.call(GetParameters, '/robot/motion_seg/get_parameters',
                              GetParameters.Request(names=['tracking.max_tracks']), 180).values
        assert values[0].integer_value == 123
        assert node.stop() == 0
