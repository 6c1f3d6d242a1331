# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tables of the data set: their columns, and the conversion of results to rows."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.msgs.results import motion_rows
from gdm_motion_seg.pipeline import FrameResult

Columns = Mapping[str, Any]
"""One array or list per column."""


class TimedFrame(Protocol):
    """Facts about a frame besides its result."""

    @property
    def at(self) -> float:
        """Return the seconds since the recording began."""

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in pixels."""


_CLOCK = [('stamp', pa.int64()), ('time', pa.float64())]
_F = [f'f{row}{column}' for row in range(3) for column in range(3)]

KEYPOINTS = pa.schema([
    *_CLOCK, ('track_id', pa.int64()), ('u', pa.float32()), ('v', pa.float32()),
    ('u_prev', pa.float32()), ('v_prev', pa.float32()), ('label', pa.int32()),
    ('moving', pa.float32()), ('residual', pa.float32())])
MOTIONS = pa.schema([
    *_CLOCK, ('id', pa.int32()), ('world', pa.bool_()), ('count', pa.int32()),
    ('moving', pa.float32()), ('kind', pa.string()), ('left', pa.float32()), ('top', pa.float32()),
    ('right', pa.float32()), ('bottom', pa.float32()), ('residual', pa.float32()),
    ('dimension', pa.float32()), ('since', pa.int64()), ('dt', pa.float64()),
    *((name, pa.float64()) for name in _F)])
FRAMES = pa.schema([
    *_CLOCK, ('gap', pa.int32()), ('tracks', pa.int32()), ('keypoints', pa.int32()),
    ('moving', pa.int32()), ('wrong', pa.int32()), ('bodies', pa.int32()),
    ('problem', pa.bool_()), ('reason', pa.string()), ('seconds', pa.float32())])
SCHEMAS = {'keypoints': KEYPOINTS, 'motions': MOTIONS, 'frames': FRAMES}
"""The tables of the data set by name."""

REPEATED = ['stamp', 'time', 'label', 'id', 'world', 'kind', 'since', 'dt', 'problem', 'reason']
"""Columns whose values repeat. A dictionary of any other makes its file half as large again, and
five times as slow to write."""
ROWS_AT_ONCE = 1 << 18
"""Number of rows that are collected before they are written."""


def keypoint_columns(frame: TimedFrame, result: FrameResult) -> Columns:
    """Return the keypoints of a frame's pair."""
    pair = result.correspondences
    x1, x2 = np.asarray(pair.x1, np.float32), np.asarray(pair.x2, np.float32)
    return {**_clock(frame, result, len(pair)), 'track_id': pair.ids, 'u': x2[:, 0],
            'v': x2[:, 1], 'u_prev': x1[:, 0], 'v_prev': x1[:, 1], 'label': result.labels,
            'moving': result.moving, 'residual': result.segmentation.residuals}


def motion_columns(frame: TimedFrame, result: FrameResult) -> Columns:
    """Return the motions of a frame's pair."""
    rows, motions = motion_rows(result), result.motions
    box = rows['box'].reshape(-1, 4).T
    names = ('id', 'count', 'moving', 'residual', 'dimension', 'dt', *_F)
    return {**_clock(frame, result, len(rows)), **{name: rows[name] for name in names},
            'world': [motion.is_world for motion in motions],
            'kind': [motion.kind.value for motion in motions],
            'left': box[0], 'top': box[1], 'right': box[2], 'bottom': box[3],
            'since': [motion.since for motion in motions]}


def frame_columns(frame: TimedFrame, result: FrameResult) -> Columns:
    """Return the row of a frame."""
    labels = result.labels
    return {**_clock(frame, result, 1), 'gap': [result.gap], 'tracks': [result.n_tracks],
            'keypoints': [len(labels)], 'moving': [int(np.sum(labels > 0))],
            'wrong': [int(np.sum(labels < 0))],
            'bodies': [sum(not motion.is_world for motion in result.motions)],
            'problem': [result.problem], 'reason': [result.reason],
            'seconds': [sum(result.seconds.values())]}


def _clock(frame: TimedFrame, result: FrameResult, count: int) -> dict[str, Any]:
    return {'stamp': np.full(count, result.stamp), 'time': np.full(count, frame.at)}


class TableFile(AbstractContextManager['TableFile']):
    """A Parquet file that is written in batches; it exists only if the block succeeds."""

    def __init__(self, store: Store, name: str, schema: pa.Schema, compression: str = 'zstd'
                 ) -> None:
        """Name the file."""
        self.schema, self._compression = schema, compression
        self._file = store.writing(name)
        self._writer: Any = None
        self._gathered: list[pa.RecordBatch] = []
        self._rows = 0

    def __enter__(self) -> 'TableFile':
        """Open the file."""
        self._writer = parquet.ParquetWriter(self._file.__enter__(), self.schema,
                                             compression=self._compression,
                                             use_dictionary=REPEATED)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Write the remaining rows; after an error, remove the file."""
        try:
            if error is None:
                self._flush()
            self._writer.close()
        except BaseException as own:
            self._file.__exit__(type(own), own, own.__traceback__)
            raise
        self._file.__exit__(kind, error, traceback)

    def write(self, columns: Columns) -> None:
        """Append rows."""
        arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
        self.write_batch(pa.record_batch(arrays, schema=self.schema))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows that already have the columns of the table."""
        self._gathered.append(batch)
        self._rows += batch.num_rows
        if self._rows >= ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_batches(self._gathered).combine_chunks())
        self._gathered, self._rows = [], 0


def open_table(store: Store, name: str) -> parquet.ParquetFile:
    """Open a Parquet file of a store."""
    path = store.path(name)
    return parquet.ParquetFile(path if store.is_local else store.fs.open(path, 'rb'))
