# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Logs frames and results to Rerun: images, tracks, boxes, masks and plots over time."""

from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.view.feeds import Answer, encode_jpeg
from gdm_motion_seg.view.moments import moment_of
from gdm_motion_seg.viz.colors import motion_rgb
from gdm_motion_seg.viz.overlay import tag_text, to_bgr

TIMELINE = 'time'


class RerunLog:
    """A Rerun recording; use it in a ``with`` statement."""

    def __init__(self, name: str, file: Path | None = None) -> None:
        """Record into a file, or open a viewer if no file is given."""
        try:
            self._rr: Any = import_module('rerun')
        except ImportError:
            raise MissingDependencyError('--rerun needs the Rerun SDK: pip install '
                                         "'gdm_motion_seg[rerun]'") from None
        self._stream = self._rr.RecordingStream(f'gdm_motion_seg {name}')
        if file is None:
            self._stream.spawn()
        else:
            self._stream.save(str(file))

    def __enter__(self) -> 'RerunLog':
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Write the remaining data."""
        self._stream.flush()
        self._stream.disconnect()

    def add(self, answer: Answer) -> None:
        """Log one frame and its result."""
        frame, result, instances = answer.frame, answer.result, answer.instances
        rr, pair = self._rr, result.correspondences
        self._stream.set_time(TIMELINE, timestamp=np.datetime64(result.stamp, 'ns'))
        self._log('camera', rr.EncodedImage(contents=encode_jpeg(to_bgr(frame.image)),
                                            media_type='image/jpeg'))
        colours = np.array([motion_rgb(label) for label in result.labels.tolist()],
                           np.uint8).reshape(-1, 3)
        self._log('camera/tracks', rr.Points2D(pair.x2, colors=colours,
                                               class_ids=np.maximum(result.labels, 0)))
        moving = result.labels > 0
        self._log('camera/flow', rr.LineStrips2D(
            np.stack([pair.x1[moving], pair.x2[moving]], axis=1), colors=colours[moving]))
        bodies = [motion for motion in result.motions if not motion.is_world]
        boxes = np.array([body.box for body in bodies]).reshape(-1, 4)
        self._log('camera/bodies', rr.Boxes2D(
            array=boxes, array_format=rr.Box2DFormat.XYXY,
            labels=[tag_text(body) for body in bodies],
            colors=[motion_rgb(body.id) for body in bodies]))
        if instances is not None:
            self._log('camera/masks', rr.SegmentationImage(
                np.clip(instances, 0, 65535).astype(np.uint16)))
        for body in moment_of(result).bodies:
            self._log(f'moving/{body.id}', rr.Scalars(body.moving))
            self._log(f'speed/{body.id}', rr.Scalars(body.speed))
        self._log('latency_ms', rr.Scalars(answer.latency_ms))

    def _log(self, path: str, value: Any) -> None:
        self._stream.log(path, value)
