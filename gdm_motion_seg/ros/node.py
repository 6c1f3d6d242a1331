# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The lifecycle node ``motion_seg``: receives images, publishes motions."""

from collections.abc import Callable
from functools import partial, wraps
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.msg import Transition as TransitionId
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_srvs.srv import Trigger

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.heap import release_free_memory, RELEASE_S
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.types import ros_types
from gdm_motion_seg.progress import progress
from gdm_motion_seg.ros.adaptation import Pace
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.diagnostics import (
    input_health, output_health, shared_memory_problem, Source, Statistics)
from gdm_motion_seg.ros.parameters import Parameters
from gdm_motion_seg.ros.processor import FrameProcessor
from gdm_motion_seg.ros.services import in_thread, make_async, ServiceCallback
from gdm_motion_seg.ros.topics import image_qos, mismatch, Publishers
from gdm_motion_seg.warm_up import warm_up

NODE_NAME = 'motion_seg'
LET_FINISH_S = 1.0
"""Time that a deactivation waits for the frame in progress; after it the frame is abandoned."""
END_S = 0.5
"""The same for the end of the process."""

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR

Transition = Callable[['MotionSegNode', LifecycleState], TransitionCallbackReturn]


def _reported(transition: Transition) -> Transition:
    """Log an exception in a transition; rclpy turns it into ERROR without a message."""
    @wraps(transition)
    def reporting(node: 'MotionSegNode', state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return transition(node, state)
        except Exception as error:
            node.get_logger().error(
                f'{transition.__name__} failed: {type(error).__name__}: {error}')
            return ERROR
    return reporting


class MotionSegNode(LifecycleNode):
    """
    A lifecycle node with one pipeline.

    The callbacks only pass messages on to the threads of the processor. One decodes and tracks,
    another segments and publishes, so that the tracker sees every image even if a segmentation
    takes long. If a thread is busy, a newer image replaces an older one that waits. A third one
    draws the overlay and the markers at a lower rate.
    """

    def __init__(self, **kwargs: Any) -> None:
        """Declare the parameters; raises InputError if one of them is invalid."""
        super().__init__(NODE_NAME, **kwargs)
        try:
            self._settings = Parameters(self, self._reconfigure)
        except BaseException:
            self.destroy_node()  # else the middleware's segment stays in shared memory
            raise
        self._statistics = Statistics(self.get_logger().warning)
        self._outputs: Publishers | None = None
        self._processor: FrameProcessor | None = None
        self._inputs: list[Subscription] = []
        self._reset_service: Any = None
        self._active_since: float | None = None
        self._told_of_no_publisher = False
        self._diagnosed_at = time.monotonic()
        make_async(self, 'change_state', self._change_state)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        # Steady clock: diagnostics are also needed while the simulated time does not advance.
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics_timer = self.create_timer(
            self.config.diagnostics_period_s, self._publish_diagnostics, clock=clock)
        self.create_timer(RELEASE_S, release_free_memory, clock=clock)

    @property
    def config(self) -> NodeConfig:
        """Return the current settings."""
        return self._settings.config

    @property
    def image_topic(self) -> str:
        """Return the image topic, named by the convention of image_transport."""
        topic = str(self.resolve_topic_name('image'))
        if self.config.image_transport == 'raw' or topic.endswith('/compressed'):
            return topic
        return topic + '/compressed'

    @property
    def _image_type(self) -> Any:
        return CompressedImage if self.config.image_transport == 'compressed' else Image

    @property
    def state(self) -> str:
        """Return the label of the current lifecycle state."""
        return str(self._state_machine.current_state[1])

    async def autostart(self) -> None:
        """Configure and activate the node if ``autostart`` is set; a task of the executor."""
        if not self.config.autostart:
            return
        await self._prepare()
        # Another client may have changed the state meanwhile.
        if self.state == 'unconfigured' and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    async def _prepare(self) -> None:
        """Compile and load in another thread, so that services and timers keep working."""
        log, start = self.get_logger(), time.monotonic()
        log.info('loading compiled code; at the first start on a machine it is compiled, which '
                 'takes up to a minute')
        with progress.reported(log.info, log.warning):
            try:
                await in_thread(self, partial(warm_up, self.config))
            except MemoryError:
                raise  # nothing would work: the process ends with a message
            except Exception as error:
                log.error(f'could not compile: {type(error).__name__}: {error}')
                return
        log.info(f'ready after {time.monotonic() - start:.1f} s')

    async def _change_state(self, callback: ServiceCallback, request: Any, response: Any) -> Any:
        """Serve ``~/change_state``: compile before configuring; refuse invalid transitions."""
        wanted = request.transition
        if wanted.label == 'configure' or (
                not wanted.label and wanted.id == TransitionId.TRANSITION_CONFIGURE):
            await self._prepare()
        state = self.state
        try:
            return callback(request, response)
        except RuntimeError as error:  # rclpy would send no response
            self.get_logger().warning(
                f'the transition {wanted.label or wanted.id} is not possible from the state '
                f'{state} ({str(error).splitlines()[0][:100]})')
            response.success = False
            return response

    @_reported
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the pipeline and the publishers; on FAILURE the node stays unconfigured."""
        self._statistics = Statistics(self.get_logger().warning)
        self._outputs = Publishers(self)
        try:
            self._processor = self._make_processor()
        except GdmMotionSegError as error:
            self.get_logger().error(f'cannot be configured: {error}')
            self._give_back()
            return FAILURE
        warm_up(self.config)
        self._reset_service = self.create_service(Trigger, '~/reset', self._reset)
        return super().on_configure(state)

    def _make_processor(self) -> FrameProcessor:
        assert self._outputs is not None
        return FrameProcessor(self.config, ros_types(), self._outputs, self._statistics, self._now)

    @_reported
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the threads and subscribe."""
        if self._processor is None:  # the last one was abandoned
            self._processor = self._make_processor()
        self._processor.start()
        self._inputs.append(self.create_subscription(
            self._image_type, self.image_topic, self._processor.put, image_qos(self.config)))
        if self.config.use_camera_info:
            self._inputs.append(self.create_subscription(
                CameraInfo, 'camera_info', self._processor.take_camera_info,
                image_qos(self.config)))
        if problem := shared_memory_problem():
            self.get_logger().warning(problem)
        self._active_since, self._told_of_no_publisher = time.monotonic(), False
        return super().on_activate(state)

    @_reported
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unsubscribe and let the threads finish their frames."""
        self._stop()
        return super().on_deactivate(state)

    @_reported
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the pipeline and the publishers."""
        self._give_back()
        return super().on_cleanup(state)

    @_reported
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything, from any state."""
        self._stop()
        self._give_back()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything; the node is then unconfigured and can be configured again."""
        self._stop()
        self._give_back()
        return SUCCESS

    def destroy_node(self) -> None:
        """Destroy the node with its state machine, which rclpy leaves; it would stay in DDS."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._processor is not None:
            self._processor.reset()
        response.success, response.message = True, 'tracks and ids were reset'
        return response

    def _publish_diagnostics(self) -> None:
        self._diagnosed_at = time.monotonic()
        name, state, source = self.get_name(), self.state, self._source()
        snapshot, patience = self._statistics.snapshot(), self.config.watchdog_s
        active_for = 0.0 if self._active_since is None else time.monotonic() - self._active_since
        listeners = self._outputs.listeners() if self._outputs else {}
        pace = self._processor.pace() if self._processor else Pace()
        healths = (
            input_health(name, state, active_for, source, snapshot, patience),
            output_health(name, state, snapshot, patience, listeners, progress.text(), pace))
        self._diagnostics.publish(DiagnosticArray(
            header=header_of(ros_types(), self._now(), ''), status=[DiagnosticStatus(
                level=bytes([health.level]), name=health.name, message=health.message,
                hardware_id=self.get_fully_qualified_name(),
                values=[KeyValue(key=key, value=value) for key, value in health.values.items()])
                for health in healths]))
        # That the topic has no publisher is logged once, and again after it had one.
        if source.publishers:
            self._told_of_no_publisher = False
        elif active_for > patience and not self._told_of_no_publisher:
            self._told_of_no_publisher = True
            self.get_logger().warning(source.no_publisher)

    def _source(self) -> Source:
        """Return the publishers of the image topic and their problems."""
        topic, requested = self.image_topic, image_qos(self.config)
        publishers = self.get_publishers_info_by_topic(topic)
        wanted = f'sensor_msgs/msg/{self._image_type.__name__}'
        problem = ''
        for publisher in publishers:
            who = f'{publisher.node_name} publishes on {topic}'
            if publisher.topic_type != wanted:
                problem = f'{who} {publisher.topic_type} instead of {wanted}'
            elif reason := mismatch(publisher.qos_profile, requested):
                problem = f'{who} with a quality of service that cannot be received: {reason}'
        others = () if publishers else self._other_topics(wanted)
        return Source(topic, len(publishers), problem, others)

    def _other_topics(self, wanted: str) -> tuple[str, ...]:
        """Return the topics of a type that other nodes publish."""
        own = self.get_fully_qualified_name() + '/'
        return tuple(sorted(
            name for name, types in self.get_topic_names_and_types()
            if wanted in types and not name.startswith(own) and self.count_publishers(name)))

    def _reconfigure(self, config: NodeConfig) -> None:
        period_ns = round(config.diagnostics_period_s * 1e9)
        if self._diagnostics_timer.timer_period_ns != period_ns:
            self._diagnostics_timer.timer_period_ns = period_ns
            self._diagnostics_timer.reset()
            # It starts from zero again: frequent changes of the period would suppress it.
            if time.monotonic() - self._diagnosed_at >= config.diagnostics_period_s:
                self._publish_diagnostics()
        if self._processor is not None:
            self._processor.reconfigure(config)

    def end(self, timeout: float = END_S) -> bool:
        """Leave the graph and the shared memory; False if a frame does not end in time."""
        finished = self._stop(timeout)
        if finished:
            self._give_back()
            self.destroy_node()
        return finished

    def _stop(self, timeout: float = LET_FINISH_S) -> bool:
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        self._inputs.clear()
        self._active_since = None
        self._statistics.paused()
        if self._processor is None or self._processor.stop(timeout):
            return True
        self._processor = None  # the next activation shares nothing with the frame
        self.get_logger().warning(f'abandoned a frame that took more than {timeout:g} s')
        return False

    def _give_back(self) -> None:
        if self._reset_service is not None:
            self.destroy_service(self._reset_service)
            self._reset_service = None
        if self._outputs is not None:
            self._outputs.destroy()
            self._outputs = None
        self._processor = None

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)


def run_node(args: list[str] | None, stop: threading.Event) -> None:
    """Make the node and spin it until ``stop`` is set or ROS is shut down, which sets ``stop``."""
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = MotionSegNode()
    except BaseException:
        rclpy.try_shutdown()
        raise
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # As a task: the node answers services while it compiles.
    executor.create_task(node.autostart)
    while not stop.is_set() and rclpy.ok():
        try:
            executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            break
        except Exception as error:
            # An exception in a callback must not end the node.
            node.get_logger().error(f'a callback failed: {type(error).__name__}: {error}')
            stop.wait(0.01)  # do not use a whole core if every call fails
    executor.shutdown(timeout_sec=0.0)
    stop.set()
    if node.end():
        rclpy.try_shutdown()
