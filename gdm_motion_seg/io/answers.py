# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes results to files: a bag with the messages of the node, a video and two tables."""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.bags import BagWriter
from gdm_motion_seg.io.frames import Frame
from gdm_motion_seg.io.tables import AnswerTables
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed
from gdm_motion_seg.msgs.markers import markers_array
from gdm_motion_seg.msgs.results import keypoints_cloud, motions_cloud
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.viz.overlay import draw_overlay

NAMESPACE = '/motion_seg'
"""Prefix of the topics of the node."""
VIDEO = 'overlay.mp4'
"""Name of the video in an output folder."""


class AnswerBag:
    """Writes the messages of the node into a bag."""

    def __init__(self, writer: BagWriter) -> None:
        """Write into an open bag."""
        self._writer = writer

    def write(self, frame: Frame, result: FrameResult, camera: Camera) -> None:
        """Write the keypoints, motions and markers of one frame."""
        types, pair = rosbags_types(), result.correspondences
        header = header_of(types, result.stamp, frame.frame_id)
        rays = camera.rays(pair.x2)
        self._put('keypoints', keypoints_cloud(types, header, result, rays), result.stamp)
        self._put('motions', motions_cloud(types, header, result, camera), result.stamp)
        self._put('markers', markers_array(types, header, result, rays, camera.rays(pair.x1)),
                  result.stamp)

    def write_overlay(self, frame: Frame, result: FrameResult, overlay: Any) -> None:
        """Write the overlay of one frame as a compressed image."""
        types = rosbags_types()
        header = header_of(types, result.stamp, frame.frame_id)
        message = encode_compressed(types, header, overlay)
        self._put('debug_image/compressed', message, result.stamp)

    def _put(self, name: str, message: Any, stamp: int) -> None:
        self._writer.write(f'{NAMESPACE}/{name}', message, stamp)


class AnswerFiles:
    """All files of an offline run: ``answers/`` (a bag), ``overlay.mp4`` and two tables."""

    def __init__(self, folder: Path, fps: float, storage: str = 'mcap',
                 bag: bool = True, video: bool = True, tables: bool = True,
                 zero_stamp: int = 0) -> None:
        """Open the requested files in an existing folder; see AnswerTables."""
        self._writer = BagWriter(folder / 'answers', storage) if bag else None
        self._answers = AnswerBag(self._writer) if self._writer else None
        self._video = VideoWriter(folder / VIDEO, fps) if video else None
        self._tables = AnswerTables(folder, zero_stamp) if tables else None

    def __enter__(self) -> 'AnswerFiles':
        """Return the files themselves."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Finish the files; after an error, only close them and let the error propagate."""
        for file in (self._writer, self._video, self._tables):
            if file is not None:
                with suppress(*((InputError, OSError) if error is not None else ())):
                    file.close()

    def write(self, frame: Frame, result: FrameResult, camera: Camera | None = None) -> None:
        """Write the result of one frame; without a camera, with the node's default rays."""
        camera = camera or Camera.guess(result.correspondences.image_size)
        if self._answers:
            self._answers.write(frame, result, camera)
        if self._video or self._answers:
            overlay = draw_overlay(frame.image, result)
            if self._video:
                self._video.write(overlay)
            if self._answers:
                self._answers.write_overlay(frame, result, overlay)
        if self._tables:
            self._tables.write(frame, result, camera)
