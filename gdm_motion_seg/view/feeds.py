# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Frames for a page: from a source that is processed here, or from a running node."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
import time
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.io.frames import Frame, FrameSource
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
from gdm_motion_seg.view.moments import Moment, moment_from_rows, moment_of
from gdm_motion_seg.viz.overlay import draw_overlay, Instances

if TYPE_CHECKING:
    from gdm_motion_seg.ros.listener import NodeFrame

JPEG_QUALITY = 85


@dataclass(frozen=True)
class Sight:
    """A frame to show: its moment, and a function that makes its picture."""

    moment: Moment
    jpeg: Callable[[], bytes]
    """Draws and encodes the picture; returns empty bytes if there is none."""


@dataclass(frozen=True)
class Answer:
    """A frame, its result, and the processing time."""

    frame: Frame
    result: FrameResult
    latency_ms: float
    instances: Instances | None = None
    """Id of the body at each pixel; None without masks."""


def answers(source: FrameSource, config: PipelineConfig, seed: int = 0, masks: bool = False
            ) -> Iterator[Answer]:
    """Yield each frame of a source with its result, and with dense masks if requested."""
    pipeline = MotionPipeline(config, seed)
    dense = MotionMasks() if masks else None
    for frame in source.frames():
        pipeline.camera = source.camera_of(frame)
        start = time.perf_counter()
        result = pipeline.process(frame.image, frame.stamp)
        instances = dense.process(frame.image, result) if dense else None
        yield Answer(frame, result, 1e3 * (time.perf_counter() - start), instances)


def sights(found: Iterable[Answer]) -> Iterator[Sight]:
    """Yield a Sight for each Answer."""
    for answer in found:
        yield Sight(moment_of(answer.result, answer.latency_ms), partial(_picture, answer))


def node_sights(frames: 'Iterable[NodeFrame]') -> Iterator[Sight]:
    """Yield a Sight for each frame of a running node."""
    size = (0, 0)
    for frame in frames:
        if frame.keypoints is None or frame.motions is None:
            continue
        size = frame.size if frame.jpeg else size
        rows = frame.keypoints
        flow = np.column_stack((rows['u'] - rows['u_prev'], rows['v'] - rows['v_prev']))
        latency = 1e3 * frame.age_s if np.isfinite(frame.age_s) else None
        moment = moment_from_rows(frame.stamp, size, frame.motions,
                                  rows['label'].astype(np.int64), flow, latency_ms=latency)
        yield Sight(moment, partial(bytes, frame.jpeg))


def _picture(answer: Answer) -> bytes:
    """Draw and encode the overlay of a result."""
    return encode_jpeg(draw_overlay(answer.frame.image, answer.result, answer.instances))


def encode_jpeg(image: npt.NDArray[np.uint8]) -> bytes:
    """Encode a BGR image as JPEG."""
    _, data = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return bytes(data)
