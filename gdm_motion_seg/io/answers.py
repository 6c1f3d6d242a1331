# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the node would have published, into files: a bag, a video and two tables."""

from contextlib import suppress
import csv
from pathlib import Path
from types import TracebackType
from typing import Any

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.io.bags import BagWriter
from gdm_motion_seg.io.frames import Frame
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import header_of, Rows
from gdm_motion_seg.msgs.images import encode_compressed
from gdm_motion_seg.msgs.keypoints import keypoint_rows, keypoints_cloud
from gdm_motion_seg.msgs.markers import markers_array
from gdm_motion_seg.msgs.motions import motion_rows, motions_cloud
from gdm_motion_seg.msgs.types import rosbags_types
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.viz.overlay import draw_overlay

NAMESPACE = '/motion_seg'
"""Where the node of that name publishes."""
VIDEO = 'overlay.mp4'
"""Name of the video in an output folder."""
NOT_IN_TABLE = ('x', 'y', 'z', 'rgb')
"""Fields of a keypoint that only a viewer wants."""


class AnswerBag:
    """Writes the node's topics into a bag."""

    def __init__(self, writer: BagWriter) -> None:
        """Write into a bag that is open."""
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


class Table:
    """A CSV file with one line a row of a structured array."""

    def __init__(self, path: Path, leave_out: tuple[str, ...] = ()) -> None:
        """Open the file; columns may be left out."""
        self._file = path.open('w', newline='', encoding='utf-8')
        self._csv = csv.writer(self._file)
        self._leave_out = leave_out
        self._has_header = False

    def write(self, stamp: int, rows: Rows) -> None:
        """Write the rows of one frame."""
        names = [n for n in rows.dtype.names or () if n not in self._leave_out]
        columns = {n: rows[n][:, None] if rows[n].ndim == 1 else rows[n] for n in names}
        if not self._has_header:
            self._has_header = True
            self._csv.writerow(['stamp', *(
                name if array.shape[1] == 1 else f'{name}_{i}'
                for name, array in columns.items() for i in range(array.shape[1]))])
        for i in range(len(rows)):
            self._csv.writerow([stamp, *(value for array in columns.values()
                                         for value in array[i].tolist())])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class AnswerFiles:
    """All files of an offline run: ``answers/`` (a bag), ``overlay.mp4`` and two tables."""

    def __init__(self, folder: Path, fps: float, storage: str = 'mcap',
                 bag: bool = True, video: bool = True, tables: bool = True) -> None:
        """Open the files that are wanted in a folder that exists."""
        self._writer = BagWriter(folder / 'answers', storage) if bag else None
        self._answers = AnswerBag(self._writer) if self._writer else None
        self._video = VideoWriter(folder / VIDEO, fps) if video else None
        self._keypoints = Table(folder / 'keypoints.csv', NOT_IN_TABLE) if tables else None
        self._motions = Table(folder / 'motions.csv') if tables else None

    def __enter__(self) -> 'AnswerFiles':
        """Return the files themselves."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Finish the files; after an error, just close them and let that error be heard."""
        for file in (self._writer, self._video, self._keypoints, self._motions):
            if file is not None:
                with suppress(*((InputError, OSError) if error is not None else ())):
                    file.close()

    def write(self, frame: Frame, result: FrameResult, camera: Camera | None = None) -> None:
        """Write what is known after one frame; without a camera, the node's guess is used."""
        camera = camera or Camera.guess(result.correspondences.image_size)
        if self._answers:
            self._answers.write(frame, result, camera)
        if self._video or self._answers:
            overlay = draw_overlay(frame.image, result)
            if self._video:
                self._video.write(overlay)
            if self._answers:
                self._answers.write_overlay(frame, result, overlay)
        if self._keypoints and self._motions:
            rays = camera.rays(result.correspondences.x2)
            self._keypoints.write(result.stamp, keypoint_rows(result, rays))
            self._motions.write(result.stamp, motion_rows(result, camera))
