# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Markers and overlay images, made in a separate thread.

The thread draws, encodes and publishes at its own rate and always takes the newest frame. So a
viewer never delays keypoints and motions.
"""

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any, Protocol

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed, encode_image, ImageArray
from gdm_motion_seg.msgs.markers import markers_array
from gdm_motion_seg.msgs.types import MessageTypes
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.worker import NewestWins
from gdm_motion_seg.viz.overlay import draw_overlay, Instances

MARKERS = 'markers'
DEBUG_IMAGE = 'debug_image'
DEBUG_COMPRESSED = 'debug_image/compressed'
DRAWN = (MARKERS, DEBUG_IMAGE, DEBUG_COMPRESSED)
"""The outputs of this module."""
MAX_SHARE = 0.2
"""Largest share of the time for drawing. A machine that is too slow for both publishes fewer
pictures, not fewer results."""


class Outputs(Protocol):
    """Receives the messages."""

    def wanted(self, name: str) -> bool:
        """Whether anybody listens to the output."""

    def publish(self, name: str, message: Any) -> None:
        """Send a message."""


@dataclass(frozen=True)
class Counted:
    """Outputs that count their messages as ``published``."""

    outputs: Outputs
    count: Callable[[str], None]

    def wanted(self, name: str) -> bool:
        """Whether anybody listens to the output."""
        return self.outputs.wanted(name)

    def publish(self, name: str, message: Any) -> None:
        """Send a message."""
        self.outputs.publish(name, message)
        self.count('published')


@dataclass(frozen=True)
class Scene:
    """A frame and its result, to be drawn."""

    image: ImageArray
    result: FrameResult
    camera: Camera
    frame_id: str
    instances: Instances | None = None
    """Id of the body at each pixel; None if no dense mask was made."""


class Drawing:
    """Draws scenes and publishes them; ``put`` never waits."""

    def __init__(self, types: MessageTypes, outputs: Outputs, config: Callable[[], NodeConfig],
                 on_error: Callable[[Exception], None]) -> None:
        """Start the thread; the settings are read for every frame."""
        self._types, self._outputs, self._config = types, outputs, config
        self._stopped = threading.Event()
        self._worker = NewestWins(self._draw_in_time, on_error, 'motion_seg_draw')

    @property
    def wanted(self) -> bool:
        """Whether any of the outputs has a subscriber."""
        return any(self._outputs.wanted(name) for name in DRAWN)

    def put(self, scene: Scene) -> None:
        """Queue a scene; it is dropped if a newer one comes before it is drawn."""
        if self.wanted:
            self._worker.put(scene)

    def stop(self, timeout: float) -> bool:
        """Finish the present drawing and end the thread; returns False on a timeout."""
        self._stopped.set()
        return self._worker.stop(timeout)

    def _draw_in_time(self, scene: Scene) -> None:
        start = time.monotonic()
        draw(scene, self._types, self._outputs, self._config().jpeg_quality)
        took = time.monotonic() - start
        self._stopped.wait(pause(took, self._config().drawing_rate_hz))


def pause(took: float, rate_hz: float) -> float:
    """Return the pause after a drawing that keeps to the rate and to the share of the time."""
    return max(1.0 / rate_hz - took, took / MAX_SHARE - took)


def draw(scene: Scene, types: MessageTypes, outputs: Outputs, jpeg_quality: int) -> None:
    """Make and publish every output of a scene that has a subscriber."""
    result, wanted, publish = scene.result, outputs.wanted, outputs.publish
    header = header_of(types, result.stamp, scene.frame_id)
    if wanted(MARKERS):
        before, now = _rays(scene)
        publish(MARKERS, markers_array(types, header, result, now, before))
    raw, compressed = wanted(DEBUG_IMAGE), wanted(DEBUG_COMPRESSED)
    if raw or compressed:
        overlay = draw_overlay(scene.image, result, scene.instances)
        if raw:
            publish(DEBUG_IMAGE, encode_image(types, header, overlay))
        if compressed:
            publish(DEBUG_COMPRESSED, encode_compressed(types, header, overlay, jpeg_quality))


def _rays(scene: Scene) -> tuple[FloatArray, FloatArray]:
    pair = scene.result.correspondences
    return scene.camera.rays(pair.x1), scene.camera.rays(pair.x2)
