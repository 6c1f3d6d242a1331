# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Results as CSV tables: one row per keypoint, and one row per motion, of every pair of frames.

An undetermined value is an empty cell. ``KEYPOINT_COLUMNS`` and ``MOTION_COLUMNS`` describe the
columns; docs/files.md has the same tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.frames import Frame
from gdm_motion_seg.msgs.clouds import Rows
from gdm_motion_seg.msgs.results import motion_rows
from gdm_motion_seg.notebook import track_columns
from gdm_motion_seg.pipeline import FrameResult

CLOCK_COLUMNS = {
    'frame': 'number of the newer frame, from 0',
    'stamp': 'its time in nanoseconds: 0 for the first frame of a video or a folder, the stamp of '
             'the message for a bag',
    'time': 'seconds since the recording began',
}
KEYPOINT_COLUMNS = {
    **CLOCK_COLUMNS,
    'track_id': 'the same from frame to frame while the track lives',
    'u, v': 'pixel in the newer image',
    'u_prev, v_prev': 'pixel in the older image',
    'label': '`id` of its motion in motions.csv; 0 is the world, -1 a wrong match',
    'what': '`world`, `body` or `wrong match`',
    'world': '`true` if it belongs to the static world',
    'moving': 'probability that it moves relative to the world',
    'residual': 'distance in pixels to its motion, for a wrong match to the nearest',
}
MOTION_COLUMNS = {
    **CLOCK_COLUMNS,
    'id': '0 is the static world; a body keeps its positive id while it lives',
    'world': '`true` for the static world',
    'moving': 'probability that it moves: the mean over its keypoints',
    'kind': '`general`, `planar`, `no parallax`, `too few points` or `non-rigid`',
    'count': 'number of its keypoints',
    'left, top, right, bottom': 'box around its keypoints in the newer image, in pixels',
    'residual': 'median distance of its keypoints, in pixels',
    'dimension': 'empirical dimension of its embedded keypoints',
    'dt': 'seconds between the two frames',
    'f00 … f22': 'fundamental matrix, row by row: x_newer^T F x_older = 0 in pixels',
    'pose': '`none`, `rotation`, or `rotation and direction`; a pose needs a calibrated camera',
    'qx, qy, qz, qw': 'rotation R of x2 ~ K (R X + t), as a quaternion',
    'tx, ty, tz': 'direction of t, a unit vector',
    'rotation_error_deg, direction_error_deg': 'their standard errors in degrees',
    'contact_s, contact_error_s': 'time to contact of a body that comes nearer, and its standard '
                                  'error, in seconds',
}
POSES = ('none', 'rotation', 'rotation and direction')
"""Text for each value of ``has_pose``."""
PIXEL_DIGITS, SHARE_DIGITS = 3, 4
_F = tuple(f'f{row}{column}' for row in range(3) for column in range(3))


def names_of(columns: Mapping[str, str]) -> list[str]:
    """Return the names of the columns in the order of the table."""
    names = list[str]()
    for entry in columns:
        names += _F if entry == 'f00 … f22' else entry.split(', ')
    return names


class AnswerTables:
    """Writes ``keypoints.csv`` and ``motions.csv``."""

    def __init__(self, folder: Path, zero_stamp: int = 0) -> None:
        """Open the files in an existing folder; ``zero_stamp`` is written as 0."""
        self._zero, self._frame = zero_stamp, 0
        self._keypoints = _Csv(folder / 'keypoints.csv', names_of(KEYPOINT_COLUMNS))
        self._motions = _Csv(folder / 'motions.csv', names_of(MOTION_COLUMNS))

    def write(self, frame: Frame, result: FrameResult, camera: Camera) -> None:
        """Write the rows of one frame."""
        clock = (self._frame, result.stamp - self._zero, round(frame.at, 6))
        self._frame += 1
        self._keypoints.write(clock, keypoint_cells(result))
        self._motions.write(clock, motion_cells(result, camera))

    def close(self) -> None:
        """Close the files."""
        self._keypoints.close()
        self._motions.close()


class _Csv:
    """A CSV file whose rows begin with the frame, the stamp and the time."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._file = path.open('w', newline='', encoding='utf-8')
        self._csv = csv.writer(self._file)
        self._csv.writerow(names)

    def write(self, clock: tuple[Any, ...], rows: Iterable[Iterable[Any]]) -> None:
        self._csv.writerows([*clock, *row] for row in rows)

    def close(self) -> None:
        self._file.close()


def keypoint_cells(result: FrameResult) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of each keypoint, without frame, stamp and time."""
    columns = track_columns(result.correspondences, result.segmentation)
    return zip(*(_cells(columns[name], digits) for name, digits in {
        'track_id': 0, 'u': PIXEL_DIGITS, 'v': PIXEL_DIGITS, 'u_prev': PIXEL_DIGITS,
        'v_prev': PIXEL_DIGITS, 'label': 0, 'what': 0, 'world': 0, 'moving': SHARE_DIGITS,
        'residual': SHARE_DIGITS}.items()))


def motion_cells(result: FrameResult, camera: Camera) -> Iterator[list[Any]]:
    """Yield the cells of each motion, without frame, stamp and time."""
    for motion, row in zip(result.motions, motion_rows(result, camera)):
        pose = int(row['has_pose'])
        yield [
            motion.id, _word(motion.is_world), round(motion.moving, SHARE_DIGITS),
            motion.kind.value, motion.count, *(round(v, PIXEL_DIGITS) for v in motion.box),
            _number(motion.residual, SHARE_DIGITS), _number(motion.dimension, SHARE_DIGITS),
            round(float(row['dt']), 9),
            *_numbers(motion.fundamental, bool(np.isfinite(motion.fundamental).all())),
            POSES[pose], *_numbers(row['rotation'], pose > 0),
            *_numbers(row['translation'], pose > 1),
            *_numbers(row['rotation_error_deg'], pose > 0),
            *_numbers(row['direction_error_deg'], pose > 1),
            *_numbers(_contact(row), bool(row['has_contact']))]


def _contact(row: Rows) -> Any:
    return np.array([row['contact_s'], row['contact_error_s']])


def _cells(column: Any, digits: int) -> Any:
    """Return a column as cells: ``true`` or ``false`` for booleans, empty for NaN."""
    if column.dtype == np.bool_:
        return np.where(column, 'true', 'false').tolist()
    if column.dtype.kind != 'f':
        return column.tolist()
    return ['' if value != value else value for value in np.round(column, digits).tolist()]


def _word(value: bool) -> str:
    return 'true' if value else 'false'


def _number(value: float, digits: int) -> Any:
    return round(value, digits) if math.isfinite(value) else ''


def _numbers(values: Any, known: bool) -> list[Any]:
    """Return numbers as cells; empty if they are not known."""
    flat = np.asarray(values, np.float64).ravel().tolist()
    return flat if known else [''] * len(flat)
