# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The way of a frame from the image message to the messages of its result.

A frame has three stages: ``track`` decodes the image and tracks into it, ``answer`` segments the
tracks and publishes the motions, ``draw`` publishes pictures. ``process`` calls them in turn; the
node runs each in its own thread. This module does not use rclpy: the outputs and the message
classes are arguments, so that it can be tested, fuzzed and timed without DDS.
"""

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any, NamedTuple, Protocol

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.masks import motion_mask, MotionMasks
from gdm_motion_seg.msgs.clouds import header_of, stamp_of
from gdm_motion_seg.msgs.images import (
    check_fits, decode_camera_info, decode_compressed, decode_image, encode_compressed,
    encode_image, ImageArray)
from gdm_motion_seg.msgs.markers import markers_array
from gdm_motion_seg.msgs.results import (
    detections_array, keypoints_cloud, motions_cloud, vision_messages)
from gdm_motion_seg.msgs.types import MessageTypes
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.adaptation import Adaptation, Pace
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.diagnostics import Statistics
from gdm_motion_seg.ros.worker import NewestWins
from gdm_motion_seg.tracking.window import TrackedFrame
from gdm_motion_seg.viz.overlay import draw_overlay, Instances

KEYPOINTS, MOTIONS, DETECTIONS = 'keypoints', 'motions', 'detections'
MASK, INSTANCES = 'mask', 'instances'
MARKERS, DEBUG_IMAGE, DEBUG_COMPRESSED = 'markers', 'debug_image', 'debug_image/compressed'
DRAWN = (MARKERS, DEBUG_IMAGE, DEBUG_COMPRESSED)
"""The outputs of the stage ``draw``."""
PATIENCE_S = 2.0
"""Time for which new settings and resets wait for a running segmentation, in seconds; after that
its frame is abandoned."""
MAX_SHARE = 0.2
"""Largest share of the time for drawing. A machine that is too slow for both publishes fewer
pictures, not fewer results."""


class Outputs(Protocol):
    """Receives the messages."""

    def wanted(self, name: str) -> bool:
        """Whether anybody listens to the output; otherwise it is not computed."""

    def publish(self, name: str, message: Any) -> None:
        """Send a message."""


@dataclass(frozen=True)
class Arrival:
    """An image message and its time of arrival (time.monotonic)."""

    message: Any
    at: float


@dataclass(frozen=True)
class TrackedImage:
    """An image that was tracked and is not segmented yet."""

    arrival: Arrival
    image: ImageArray
    tracked: TrackedFrame
    resets: int
    """Number of resets before it was tracked."""


@dataclass(frozen=True)
class Scene:
    """An image with its result, to be drawn."""

    image: ImageArray
    result: FrameResult
    camera: Camera
    header: Any
    instances: Instances | None = None
    """Id of the body at each pixel; None if no dense mask was made."""


class _Threads(NamedTuple):
    """The thread of each stage."""

    track: NewestWins[Arrival]
    answer: NewestWins[TrackedImage]
    draw: NewestWins[Scene]


class FrameProcessor:
    """
    Owns the pipeline; takes image messages and publishes results.

    Changes of settings and resets are applied between two frames. A segmentation cannot be
    interrupted. If one does not end, the next change abandons it together with its pipeline and
    its thread. Only published results are counted as answered.
    """

    def __init__(self, config: NodeConfig, types: MessageTypes, outputs: Outputs,
                 statistics: Statistics, now: Callable[[], int]) -> None:
        """Make the pipeline; ``now`` is the node's clock in nanoseconds."""
        self._config, self._types, self._outputs = config, types, outputs
        self._statistics, self._now = statistics, now
        self._adaptation = Adaptation()
        self._pipeline, self._masks = MotionPipeline(config, config.seed), MotionMasks()
        self._camera: tuple[Camera, str] | None = None
        self._last_stamp = 0
        self._threads: _Threads | None = None
        self._lock, self._answering = threading.Lock(), threading.Lock()
        self._next_config: NodeConfig | None = None
        self._reset_wanted = self._closed = False
        self._resets = 0

    def process(self, arrival: Arrival) -> None:
        """Take an image message through all stages in this thread."""
        if tracked := self.track(arrival):
            if scene := self.answer(tracked):
                self.draw(scene)

    def track(self, arrival: Arrival) -> TrackedImage | None:
        """Decode an image message and track into it; None if it is refused."""
        self._apply_changes()
        start = time.monotonic()
        try:
            image = self._decode(arrival.message)
        except InputError as error:
            self._report('refused', f'image refused: {error}')
            return None
        if self._config.adapt:
            self._pipeline.share = self._adaptation.decide(self._config.tracking.max_tracks)
        try:
            tracked = self._pipeline.track(image, stamp_of(arrival.message.header))
        except Exception:
            self.reset()
            raise
        if tracked.problem:
            # Here, because the frame may be dropped before it is segmented.
            self._report('unanswered', tracked.reason)
        self._adaptation.took('track', time.monotonic() - start)
        return TrackedImage(arrival, image, tracked, self._resets)

    def answer(self, item: TrackedImage) -> Scene | None:
        """Find the motions of a tracked image and publish them; None if they are outdated."""
        start = time.monotonic()
        try:
            camera = self._camera_for(item)
            with self._answering:
                if self._is_stale(item):
                    return None
                pipeline = self._pipeline
                pipeline.camera = camera
                result = pipeline.segment(item.tracked)
            if self._is_stale(item):
                return None
            scene = self._publish(item, result, camera)
        except Exception:
            if self._is_stale(item):
                return None
            self.reset()
            raise
        self._account(result, item)
        self._adaptation.took('answer', time.monotonic() - start)
        return scene

    def draw(self, scene: Scene) -> None:
        """Publish the markers and the pictures that have a subscriber."""
        wanted, types, header = self._outputs.wanted, self._types, scene.header
        pair, rays = scene.result.correspondences, scene.camera.rays
        self._send(MARKERS, lambda: markers_array(types, header, scene.result, rays(pair.x2),
                                                  rays(pair.x1)))
        if wanted(DEBUG_IMAGE) or wanted(DEBUG_COMPRESSED):
            overlay = draw_overlay(scene.image, scene.result, scene.instances)
            self._send(DEBUG_IMAGE, lambda: encode_image(types, header, overlay))
            self._send(DEBUG_COMPRESSED, lambda: encode_compressed(
                types, header, overlay, self._config.jpeg_quality))

    def start(self) -> None:
        """Start a thread for each stage; a stage that is busy takes the newest frame next."""
        self.reset()
        self._adaptation.reset()
        self._threads = _Threads(
            NewestWins(self._track_next, self.failed, 'motion_seg_track'),
            NewestWins(self._answer_next, self.failed, 'motion_seg_answer'),
            NewestWins(self._draw_next, self._not_drawn, 'motion_seg_draw'))

    def put(self, message: Any) -> None:
        """Queue an image message without waiting."""
        if threads := self._threads:
            now = time.monotonic()
            dropped = threads.track.put(Arrival(message, now))
            self._statistics.received(dropped)
            self._adaptation.arrived(stamp_of(message.header), now, dropped)

    def _track_next(self, arrival: Arrival) -> None:
        tracked, threads = self.track(arrival), self._threads
        if tracked and threads and threads.answer.put(tracked):
            self._statistics.count('dropped')
            self._adaptation.dropped()

    def _answer_next(self, item: TrackedImage) -> None:
        scene, threads = self.answer(item), self._threads
        if scene and threads and any(map(self._outputs.wanted, DRAWN)):
            threads.draw.put(scene)

    def _draw_next(self, scene: Scene) -> float:
        start = time.monotonic()
        self.draw(scene)
        return pause(time.monotonic() - start, self._config.drawing_rate_hz)

    def stop(self, timeout: float) -> bool:
        """
        Let the stages finish their frames, and end their threads.

        If a frame takes longer, the result is False and nothing more is published: the frame
        keeps the threads and the pipeline until it ends.
        """
        threads, self._threads = self._threads, None
        deadline = time.monotonic() + timeout
        # Backwards, so that no drawing begins while the others finish.
        finished = [thread.stop(max(0.0, deadline - time.monotonic()))
                    for thread in reversed(threads or ())]
        if not all(finished):
            self.close()
        return all(finished)

    def close(self) -> None:
        """Publish nothing more, not even the frame in progress; this is final."""
        self._closed = True

    def reset(self) -> None:
        """Forget tracks and identities before the next frame."""
        with self._lock:
            self._reset_wanted = True

    def reconfigure(self, config: NodeConfig) -> None:
        """Use new settings from the next frame on."""
        with self._lock:
            self._next_config = config

    def take_camera_info(self, message: Any) -> None:
        """Use a calibration from now on, if it is valid."""
        try:
            self._camera = decode_camera_info(message), message.header.frame_id
        except InputError as error:
            self._camera = None
            self._report('camera_info', str(error))

    def pace(self) -> Pace:
        """Return the load and the share of tracks and effort."""
        return self._adaptation.pace()

    def failed(self, error: Exception) -> None:
        """Report an exception that left ``track`` or ``answer``."""
        self._report('failed', f'restarted after an error: {type(error).__name__}: {error}')

    def _not_drawn(self, error: Exception) -> None:
        self._report('failed', f'a frame could not be drawn: {type(error).__name__}: {error}')

    def _decode(self, message: Any) -> ImageArray:
        stamp = stamp_of(message.header)
        if stamp <= 0:
            raise InputError('it has no time stamp (zero or negative)')
        if stamp == self._last_stamp:
            raise InputError('it has the same time stamp as the previous image')
        self._last_stamp = stamp
        limit = self._config.tracking.max_image_pixels
        if self._config.image_transport == 'compressed':
            return decode_compressed(message, limit)
        return decode_image(message, limit)

    def _camera_for(self, item: TrackedImage) -> Camera | None:
        """Return the calibration if there is one and it fits the image."""
        if self._camera is None:
            return None
        camera, camera_frame = self._camera
        height, width = item.image.shape[:2]
        try:
            check_fits(camera, camera_frame, (width, height), item.arrival.message.header.frame_id)
        except InputError as error:
            self._report('camera_info', str(error))
            return None
        return camera

    def _publish(self, item: TrackedImage, result: FrameResult, camera: Camera | None) -> Scene:
        """Publish every subscribed output but those that are drawn."""
        wanted, types, pair = self._outputs.wanted, self._types, result.correspondences
        header = header_of(types, result.stamp, item.arrival.message.header.frame_id)
        lens = camera or Camera.guess(pair.image_size)
        self._send(KEYPOINTS, lambda: keypoints_cloud(types, header, result, lens.rays(pair.x2)))
        self._send(MOTIONS, lambda: motions_cloud(types, header, result, camera))
        self._send(DETECTIONS, lambda: detections_array(vision_messages(), header, result))
        if not (wanted(MASK) or wanted(INSTANCES)):
            return Scene(item.image, result, lens, header)
        bodies, config = self._masks.process(item.image, result), self._config
        self._send(MASK, lambda: encode_image(types, header, motion_mask(
            bodies, config.mask_dilation_px, config.mask_moving_is_white)))
        self._send(INSTANCES, lambda: encode_image(types, header, bodies))
        return Scene(item.image, result, lens, header, bodies)

    def _send(self, name: str, build: Callable[[], Any]) -> None:
        """Build and publish the message of an output, if it has a subscriber."""
        if self._outputs.wanted(name):
            message = build()
            if not self._closed:
                self._outputs.publish(name, message)
                self._statistics.count('published')

    def _account(self, result: FrameResult, item: TrackedImage) -> None:
        if result.problem and not item.tracked.problem:
            self._report('unanswered', result.reason)
        if result.has_pair or not result.problem:
            self._statistics.answered(
                time.monotonic() - item.arrival.at, (self._now() - result.stamp) / 1e9,
                len(result.correspondences), result.segmentation.n_motions, result.reason)

    def _report(self, kind: str, sentence: str) -> None:
        if not self._closed:
            self._statistics.problem(kind, sentence)

    def _is_stale(self, item: TrackedImage) -> bool:
        """Whether an image was tracked before the last reset, or its pipeline was replaced."""
        return self._closed or item.resets != self._resets

    def _apply_changes(self) -> None:
        with self._lock:
            config, self._next_config = self._next_config, None
            reset, self._reset_wanted = self._reset_wanted, False
        if config is None and not reset:
            return
        if not self._answering.acquire(timeout=PATIENCE_S):
            self._start_over(config or self._config)
            return
        try:
            if config is not None:
                self._pipeline.reconfigure(config)
                self._config = config
                self._pipeline.share = 1.0
                self._adaptation.reset()
            if reset:
                self._resets += 1
                self._pipeline.reset()
                self._masks = MotionMasks()
        except Exception as error:
            # Settings are checked before. If that fails here, partly applied settings would be
            # worse than none.
            self._report('failed', f'restarted, because new settings could not be applied: '
                                   f'{type(error).__name__}: {error}')
            self._replace_pipeline(self._config)
        finally:
            self._answering.release()

    def _start_over(self, config: NodeConfig) -> None:
        """Abandon a segmentation that does not end; continue with a new pipeline and thread."""
        self._replace_pipeline(config)
        self._config, self._answering = config, threading.Lock()
        if self._threads:
            self._threads.answer.abandon()
        self._report('abandoned', 'abandoned a frame whose segmentation delayed new settings or a '
                                  f'reset for more than {PATIENCE_S:g} s')

    def _replace_pipeline(self, config: NodeConfig) -> None:
        """Make a new pipeline; an abandoned thread may still use the old one."""
        pipeline = MotionPipeline(config, config.seed)
        self._resets += 1
        self._pipeline, self._masks = pipeline, MotionMasks()


def pause(took: float, rate_hz: float) -> float:
    """Return the pause after a drawing that keeps to the rate and to the share of the time."""
    return max(1.0 / rate_hz - took, took / MAX_SHARE - took)
