# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Processing of one image message: decode, track, segment, build messages, publish.

This module does not use rclpy: the outputs and the message classes are arguments, so that it can
be tested, fuzzed and timed without DDS.
"""

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.msgs.camera_info import check_fits, decode_camera_info
from gdm_motion_seg.msgs.clouds import header_of, stamp_of
from gdm_motion_seg.msgs.detections import detections_array, vision_messages
from gdm_motion_seg.msgs.images import decode_compressed, decode_image, ImageArray
from gdm_motion_seg.msgs.keypoints import keypoints_cloud
from gdm_motion_seg.msgs.motions import motions_cloud
from gdm_motion_seg.msgs.types import MessageTypes
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.adaptation import Adaptation
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.dense import DenseOutputs
from gdm_motion_seg.ros.drawing import Counted, draw as draw_scene, Outputs, Scene
from gdm_motion_seg.ros.measurements import Statistics
from gdm_motion_seg.tracking.window import TrackedFrame

KEYPOINTS = 'keypoints'
MOTIONS = 'motions'
DETECTIONS = 'detections'

PATIENCE_S = 2.0
"""Time for which new settings and resets wait for a running segmentation, in seconds; after that
its frame is abandoned."""


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


class FrameProcessor:
    """
    Owns the pipeline; processes an image in one call or in two steps.

    One thread calls ``track`` and one thread calls ``answer``; any thread may call the other
    methods. Changes of settings and resets are applied between two frames.

    A segmentation cannot be interrupted. If one does not end, the next change abandons it together
    with its pipeline and makes a new pipeline; ``abandon``, called in the thread of ``track``,
    must then let another thread call ``answer``. Only published results are counted as answered.

    ``warn`` takes a sentence about a problem, ``now`` is the node's clock in nanoseconds. ``draw``
    takes each scene and must not block; without it, scenes are drawn here.
    """

    def __init__(self, config: NodeConfig, types: MessageTypes, outputs: Outputs,
                 statistics: Statistics, warn: Callable[[str], None], now: Callable[[], int],
                 abandon: Callable[[], None] = lambda: None,
                 draw: Callable[[Scene], None] | None = None,
                 adaptation: Adaptation | None = None) -> None:
        """Make the pipeline."""
        self._adaptation = adaptation or Adaptation()
        self._draw = draw or self._draw_here
        self._config = config
        self._types = types
        self._outputs = Counted(outputs, statistics.count)
        self._statistics = statistics
        self._warn = warn
        self._now = now
        self._abandon = abandon
        self._pipeline = MotionPipeline(config, config.seed)
        self._dense = self._new_dense()
        self._camera: tuple[Camera, str] | None = None
        self._lock = threading.Lock()
        self._answering = threading.Lock()
        self._resets = 0
        self._next_config: NodeConfig | None = None
        self._reset_wanted = False
        self._closed = False
        self._last_stamp = 0

    def reset(self) -> None:
        """Forget tracks and identities before the next frame."""
        with self._lock:
            self._reset_wanted = True

    def reconfigure(self, config: NodeConfig) -> None:
        """Use new settings from the next frame on."""
        with self._lock:
            self._next_config = config

    def close(self) -> None:
        """Publish nothing more, not even the frame in progress; this is final."""
        self._closed = True

    def take_camera_info(self, message: Any) -> None:
        """Use a calibration from now on, if it is valid."""
        try:
            self._camera = decode_camera_info(message), message.header.frame_id
        except InputError as error:
            self._camera = None
            self._report('camera_info', str(error))

    def process(self, arrival: Arrival) -> None:
        """Track and segment one image message and publish the result."""
        tracked = self.track(arrival)
        if tracked is not None:
            self.answer(tracked)

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

    def answer(self, item: TrackedImage) -> None:
        """Find the motions of a tracked image and publish them."""
        start = time.monotonic()
        frame_id = item.arrival.message.header.frame_id
        height, width = item.image.shape[:2]
        try:
            camera = self._camera_for((width, height), frame_id)
            with self._answering:
                if self._is_stale(item):
                    return
                pipeline = self._pipeline
                pipeline.camera = camera
                result = pipeline.segment(item.tracked)
            if self._is_stale(item):
                return
            self._publish(item.image, result, camera, frame_id)
        except Exception:
            if self._is_stale(item):
                return
            self.reset()
            raise
        self._account(result, item)
        self._adaptation.took('answer', time.monotonic() - start)

    def failed(self, error: Exception) -> None:
        """Report an exception that left ``process``."""
        self._report('failed', f'restarted after an error: {type(error).__name__}: {error}')

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
                self._dense = self._new_dense()
        except Exception as error:
            # Settings are checked before. If that fails here, partly applied settings would be
            # worse than none.
            self._report('failed', f'restarted, because new settings could not be applied: '
                                   f'{type(error).__name__}: {error}')
            self._replace_pipeline(self._config)
        finally:
            self._answering.release()

    def _start_over(self, config: NodeConfig) -> None:
        """Abandon a segmentation that does not end, and continue with a new pipeline."""
        self._replace_pipeline(config)
        self._config = config
        self._answering = threading.Lock()
        self._abandon()
        self._report('abandoned', 'abandoned a frame whose segmentation delayed new settings or a '
                                  f'reset for more than {PATIENCE_S:g} s')

    def _replace_pipeline(self, config: NodeConfig) -> None:
        pipeline = MotionPipeline(config, config.seed)
        self._resets += 1
        self._pipeline, self._dense = pipeline, self._new_dense()

    def _new_dense(self) -> DenseOutputs:
        """Return new dense outputs; an abandoned thread may still use the old ones."""
        return DenseOutputs(self._types, self._outputs.wanted, self._outputs.publish)

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

    def _publish(self, image: ImageArray, result: FrameResult, camera: Camera | None,
                 frame_id: str) -> None:
        wanted, types, publish = self._outputs.wanted, self._types, self._outputs.publish
        header = header_of(types, result.stamp, frame_id)
        pair = result.correspondences
        lens = camera or Camera.guess(pair.image_size)
        if wanted(KEYPOINTS):
            publish(KEYPOINTS, keypoints_cloud(types, header, result, lens.rays(pair.x2)))
        if wanted(MOTIONS):
            publish(MOTIONS, motions_cloud(types, header, result, camera))
        if wanted(DETECTIONS):
            publish(DETECTIONS, detections_array(vision_messages(), header, result))
        instances = self._dense.publish(image, result, header, self._config)
        self._draw(Scene(image, result, lens, frame_id, instances))

    def _draw_here(self, scene: Scene) -> None:
        draw_scene(scene, self._types, self._outputs, self._config.jpeg_quality)

    def _camera_for(self, size: tuple[int, int], frame_id: str) -> Camera | None:
        """Return the calibration if there is one and it fits the image."""
        if self._camera is None:
            return None
        camera, camera_frame = self._camera
        try:
            check_fits(camera, camera_frame, size, frame_id)
        except InputError as error:
            self._report('camera_info', str(error))
            return None
        return camera

    def _account(self, result: FrameResult, item: TrackedImage) -> None:
        if result.problem and not item.tracked.problem:
            self._report('unanswered', result.reason)
        if result.has_pair or not result.problem:
            self._statistics.answered(
                time.monotonic() - item.arrival.at, (self._now() - result.stamp) / 1e9,
                len(result.correspondences), result.segmentation.n_motions, result.reason)

    def _report(self, kind: str, sentence: str) -> None:
        if self._closed:
            return  # it was replaced
        self._statistics.problem(kind, sentence)
        self._warn(sentence)
