# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where a page gets its frames from: a source, run through the pipeline here, or a node."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
import time
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.io.frames import Frame, FrameSource
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
from gdm_motion_seg.view.moments import Moment, moment_from_rows, moment_of
from gdm_motion_seg.viz.overlay import draw_overlay

if TYPE_CHECKING:
    from gdm_motion_seg.ros.listener import NodeFrame

JPEG_QUALITY = 85


@dataclass(frozen=True)
class Sight:
    """A frame that can be shown: its moment at once, its picture when somebody wants it."""

    moment: Moment
    jpeg: Callable[[], bytes]
    """Draws and encodes it; empty if there is none."""


def answers(source: FrameSource, config: PipelineConfig, seed: int = 0
            ) -> Iterator[tuple[Frame, FrameResult, float]]:
    """Yield each frame of a source with its answer and the milliseconds that it took."""
    pipeline = MotionPipeline(config, seed)
    for frame in source.frames():
        pipeline.camera = source.camera_of(frame)
        start = time.perf_counter()
        result = pipeline.process(frame.image, frame.stamp)
        yield frame, result, 1e3 * (time.perf_counter() - start)


def sights(source: FrameSource, config: PipelineConfig, seed: int = 0) -> Iterator[Sight]:
    """Yield what a page can show of a source."""
    for frame, result, latency in answers(source, config, seed):
        yield Sight(moment_of(result, latency), _Picture(frame, result))


def node_sights(frames: 'Iterable[NodeFrame]') -> Iterator[Sight]:
    """Yield what a page can show of a running node."""
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


@dataclass(frozen=True)
class _Picture:
    """Draws and encodes when it is called."""

    frame: Frame
    result: FrameResult

    def __call__(self) -> bytes:
        return encode_jpeg(draw_overlay(self.frame.image, self.result))


def encode_jpeg(image: npt.NDArray[np.uint8]) -> bytes:
    """Encode a BGR image."""
    _, data = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return bytes(data)
