# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Files with the tracks of a part of a recording, between tracking and segmentation.

They are Arrow files with one record per frame. Numbers are stored exactly, so that the
segmentation of a part gets the same input as in an undivided run.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
import json
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.frames import Frame
from gdm_motion_seg.tracking.window import TrackedFrame, Window

ARRAYS = {'x': (np.float64, 2), 'before': (np.float64, 2), 'covariance': (np.float64, 3),
          'ids': (np.int64, 0)}
"""Arrays of a window: type, and number of columns if there are several."""
NARROW = {np.float64: np.float32, np.int64: np.int32}
"""Types of half the size, for arrays that they represent exactly: LK returns float32."""
SCHEMA = pa.schema([('header', pa.string()), *((name, pa.binary()) for name in ARRAYS)])


@dataclass(frozen=True)
class Moment:
    """Facts about a frame that was tracked."""

    tracked: TrackedFrame
    camera: Camera | None
    at: float
    """Seconds since the recording began."""
    size: tuple[int, int]
    """Width and height of the image in pixels."""


class TracksFile(AbstractContextManager['TracksFile']):
    """A file of tracks that is written frame by frame; it exists only if the block succeeds."""

    def __init__(self, store: Store, name: str) -> None:
        """Set the name of the file."""
        self._file = store.writing(name)
        self._writer: Any = None

    def __enter__(self) -> 'TracksFile':
        """Open the file."""
        # Not compressed: that takes more time than it saves space.
        self._writer = pa.ipc.new_file(str(self._file.__enter__()), SCHEMA)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Finish the file; after an error, remove it."""
        try:
            self._writer.close()
        except BaseException as own:
            self._file.__exit__(type(own), own, own.__traceback__)
            raise
        self._file.__exit__(kind, error, traceback)

    def write(self, frame: Frame, tracked: TrackedFrame, camera: Camera | None) -> None:
        """Append a frame."""
        window = tracked.window
        header = {name: value for name, value in vars(tracked).items() if name != 'window'}
        header |= {'at': frame.at, 'size': frame.size, 'gaps': window.seconds,
                   'image_size': window.image_size, 'camera': _camera_to_dict(camera)}
        arrays = {name: _narrowed(getattr(window, name)) for name in ARRAYS}
        header['types'] = {name: array.dtype.name for name, array in arrays.items()}
        row = [json.dumps(header), *(array.tobytes() for array in arrays.values())]
        columns = [pa.array([value], field.type) for value, field in zip(row, SCHEMA)]
        self._writer.write_batch(pa.record_batch(columns, schema=SCHEMA))


def read_tracks(store: Store, name: str, start: float = 0.0) -> Iterator[Moment]:
    """Yield the frames of a file of tracks from a time of the recording on."""
    path = store.path(name)
    with (pa.memory_map(path) if store.is_local else store.fs.open(path, 'rb')) as file:
        reader = pa.ipc.open_file(file)
        for index in range(reader.num_record_batches):
            row = reader.get_batch(index).to_pylist()[0]
            header = json.loads(row['header'])
            if header['at'] >= start:
                yield _moment(header, row)


def _narrowed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array with the narrower type if that is exact."""
    narrow = array.astype(NARROW[array.dtype.type])
    exact = np.array_equal(narrow, array, equal_nan=array.dtype.kind == 'f')
    return narrow if exact else array


def _moment(header: dict[str, Any], row: dict[str, bytes]) -> Moment:
    arrays: dict[str, Any] = {}
    types = header.pop('types')
    for name, (kind, columns) in ARRAYS.items():
        # A copy, because kernels are compiled for writable arrays.
        array = np.frombuffer(row[name], types[name]).astype(kind)
        arrays[name] = array.reshape(-1, columns) if columns else array
    gaps = tuple(header.pop('gaps'))
    count = len(arrays['ids'])
    arrays['before'] = arrays['before'].reshape(len(gaps), count, 2)
    window = Window(**arrays, seconds=gaps, image_size=tuple(header.pop('image_size')))
    camera, at, size = (header.pop(name) for name in ('camera', 'at', 'size'))
    return Moment(TrackedFrame(**header, window=window), _camera_from_dict(camera), at,
                  tuple(size))


def _camera_to_dict(camera: Camera | None) -> dict[str, Any] | None:
    if camera is None:
        return None
    lists = replace(camera, matrix=camera.matrix.tolist(), distortion=camera.distortion.tolist())
    return asdict(lists)


def _camera_from_dict(values: dict[str, Any] | None) -> Camera | None:
    if values is None:
        return None
    return Camera(np.array(values['matrix']), np.array(values['distortion'], np.float64),
                  values['model'], tuple(values['image_size']), values['is_guess'])
