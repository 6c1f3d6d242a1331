# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node answers while it compiles."""

import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from lifecycle_msgs.msg import Transition  # noqa: E402, I100
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from rcl_interfaces.srv import GetParameters, SetParametersAtomically  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from gdm_motion_seg.errors import InputError  # noqa: E402, I100
from gdm_motion_seg.progress import progress  # noqa: E402
from gdm_motion_seg.ros import node as node_module  # noqa: E402
from gdm_motion_seg.tracking import mask_file  # noqa: E402
from gdm_motion_seg_tools.ros.record import DIAGNOSTICS, Recorder  # noqa: E402
from gdm_motion_seg_tools.ros.session import wait_until  # noqa: E402


class Compiler:
    """Compiles until it is stopped."""

    def __init__(self):
        """Begin with nothing."""
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, config):
        """Replace warm_up."""
        with progress.waiting('compiling'):
            self.begun.set()
            assert self.go.wait(60)


@pytest.fixture
def compiler(monkeypatch):
    """Return a compiler that does not finish until it is stopped."""
    this = Compiler()
    monkeypatch.setattr(node_module, 'warm_up', this)
    yield this
    this.go.set()


@pytest.fixture
def spinning(session, compiler):
    """Return a function that starts a node of this process."""
    executor, nodes = SingleThreadedExecutor(context=session.node.context), []
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            executor.spin_once(timeout_sec=0.1)

    def start(autostart):
        node = node_module.MotionSegNode(
            context=session.node.context,
            parameter_overrides=[Parameter('diagnostics_period_s', value=0.1),
                                 Parameter('autostart', value=autostart)])
        nodes.append(node)
        executor.add_node(node)
        executor.create_task(node.autostart)
        thread.start()
        return node

    thread = threading.Thread(target=spin)
    yield start
    compiler.go.set()
    stop.set()
    thread.join()
    for node in nodes:
        assert node.end(10.0)


def test_services_parameters_and_diagnostics_answer_while_the_node_compiles(session, spinning,
                                                                            compiler):
    recorder = Recorder(session.node, {})
    node = spinning(autostart=True)
    assert compiler.begun.wait(60)
    state = session.call(GetState, '/motion_seg/get_state', GetState.Request())
    assert state.current_state.label == 'unconfigured'
    value = session.call(GetParameters, '/motion_seg/get_parameters',
                         GetParameters.Request(names=['autostart']))
    assert value.values[0].bool_value
    assert recorder.wait_for(lambda: any(
        'the node is unconfigured: compiling' in status.message
        for message in recorder.messages(DIAGNOSTICS) for status in message.status), 60)
    compiler.go.set()
    assert wait_until(lambda: node.state == 'active', 60)
    recorder.close()


def test_a_mask_is_read_while_the_node_answers(session, spinning, compiler, monkeypatch):
    begun, go = threading.Event(), threading.Event()

    def slow(path):
        begun.set()
        assert go.wait(60)
        raise InputError('mask_path is slow and no good')

    monkeypatch.setattr(mask_file, 'read_mask', slow)
    spinning(autostart=False)
    client = session.node.create_client(SetParametersAtomically,
                                        '/motion_seg/set_parameters_atomically')
    assert client.wait_for_service(60)
    change = client.call_async(SetParametersAtomically.Request(parameters=[
        Parameter('tracking.mask_path', value='/slow/disk').to_parameter_msg()]))
    assert begun.wait(60)
    state = session.call(GetState, '/motion_seg/get_state', GetState.Request())
    assert state.current_state.label == 'unconfigured' and not change.done()
    go.set()
    assert wait_until(change.done, 60)
    assert change.result().result.reason == 'mask_path is slow and no good'
    session.node.destroy_client(client)


def test_configure_responds_after_compilation_and_shutdown_is_not_delayed(session, spinning,
                                                                          compiler):
    node = spinning(autostart=False)
    client = session.node.create_client(ChangeState, '/motion_seg/change_state')
    assert client.wait_for_service(60)
    configure = client.call_async(ChangeState.Request(
        transition=Transition(id=Transition.TRANSITION_CONFIGURE)))
    assert compiler.begun.wait(60)
    assert session.call(ChangeState, '/motion_seg/change_state', ChangeState.Request(
        transition=Transition(id=Transition.TRANSITION_UNCONFIGURED_SHUTDOWN))).success
    assert node.state == 'finalized' and not configure.done()
    compiler.go.set()
    assert wait_until(configure.done, 60)
    assert not configure.result().success
    session.node.destroy_client(client)
