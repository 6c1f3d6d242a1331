# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Files of results in the output folder.

A recording is finished if ``recordings/NAME.json`` exists, which is written last. A part of a long
recording is finished if its own ``.json`` exists; parts are removed when they are joined.
"""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
import json
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from gdm_motion_seg.batch.job import Job, Part
from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tables import (frame_columns, keypoint_columns, motion_columns, SCHEMAS,
                                         TableFile, TimedFrame)
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import WORLD

JOIN_S = 1.0
"""If a body is not seen for longer than this, a new span begins."""


@dataclass(frozen=True)
class Span:
    """A time span in which one body was seen."""

    body: int
    start: float
    """Seconds since the recording began."""
    stop: float
    frames: int
    count: float
    """Mean number of its keypoints."""
    moving: float
    """Mean probability that it moves."""
    box: tuple[float, float, float, float]
    """Mean of left, top, right and bottom in pixels."""


@dataclass(frozen=True)
class Summary:
    """Contents of a part or a recording, as in its JSON file."""

    key: str = ''
    name: str = ''
    url: str = ''
    settings: str = ''
    code: str = ''
    run: str = ''
    """Name of the run that computed it."""
    parts: int = 1
    frames: int = 0
    pairs: int = 0
    keypoints: int = 0
    skipped: int = 0
    """Frames that could not be decoded."""
    width: int = 0
    height: int = 0
    first_stamp: int = 0
    seconds: float = 0.0
    """Time from the first to the last frame."""
    moving_seconds: float = 0.0
    """Time in which at least one body was seen."""
    bodies: int = 0
    compute_seconds: float = 0.0
    """Time that workers spent on it, including tracking and overlaps."""
    spans: tuple[Span, ...] = field(default=(), repr=False)

    def to_json(self) -> bytes:
        """Return the summary as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> 'Summary':
        """Read what ``to_json`` wrote."""
        values: dict[str, Any] = json.loads(data)
        spans = tuple(Span(**{**span, 'box': tuple(span['box'])}) for span in values.pop('spans'))
        return cls(**values, spans=spans)


def table_name(table: str, recording: str) -> str:
    """Return the file of a recording in a table of the data set."""
    return f'{table}/recording={recording}/0.parquet'


def summary_name(recording: str) -> str:
    """Return the file that marks a recording as finished."""
    return f'recordings/{recording}.json'


def page_name(recording: str) -> str:
    """Return the page of a recording in the report."""
    return f'pages/{recording}.html'


def part_name(recording: str, key: str, part: Part) -> str:
    """Return the stem of the files of a part."""
    return f'parts/{recording}/{key}-{part.index:04d}-of-{part.count:04d}'


def tracks_name(recording: str, key: str, part: Part) -> str:
    """Return the file with the tracks of a part."""
    return f'{part_name(recording, key, part)}.tracks.arrow'


def tracking_name(recording: str, key: str) -> str:
    """Return the file with the totals of tracking a long recording."""
    return f'parts/{recording}/{key}-tracking.json'


def read_summary(store: Store, name: str) -> Summary | None:
    """Read a summary; None if there is none, or one of another version of this package."""
    try:
        return Summary.from_json(store.read(name))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def finished(store: Store, recording: str, key: str) -> Summary | None:
    """Return the summary of a recording whose result has this key; None if there is none."""
    summary = read_summary(store, summary_name(recording))
    return summary if summary is not None and summary.key == key else None


def forget(store: Store, recording: str) -> None:
    """Remove the result of a recording, so that an outdated one is not taken for a new one."""
    store.remove(summary_name(recording))
    store.remove(page_name(recording))
    for table in SCHEMAS:
        store.remove(table_name(table, recording).rpartition('/')[0])


class PartWriter(AbstractContextManager['PartWriter']):
    """Writes the tables of a part, or of an undivided recording, and counts their contents."""

    def __init__(self, store: Store, files: dict[str, str], overlap: str = '') -> None:
        """Set the file of each table; ``overlap`` is the file for keypoints of the overlap."""
        self.summary = Summary()
        # The tables of a part are soon read again, and then removed.
        compression = 'lz4' if overlap else 'zstd'
        self._tables = {table: TableFile(store, name, SCHEMAS[table], compression)
                        for table, name in files.items()}
        self._overlap = TableFile(store, overlap, SCHEMAS['keypoints'],
                                  compression) if overlap else None
        self._open = ExitStack()

    def __enter__(self) -> 'PartWriter':
        """Open the files."""
        with ExitStack() as stack:
            for table in filter(None, (*self._tables.values(), self._overlap)):
                stack.enter_context(table)
            self._open = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Finish the files; after an error, remove them."""
        self._open.__exit__(kind, error, traceback)

    def warm_up(self, frame: TimedFrame, result: FrameResult) -> None:
        """Add a result from before the part."""
        if self._overlap and result.has_pair:
            self._overlap.write(keypoint_columns(frame, result))

    def write(self, frame: TimedFrame, result: FrameResult) -> None:
        """Add a result of the part."""
        for table, columns in (('keypoints', keypoint_columns), ('motions', motion_columns),
                               ('frames', frame_columns)):
            if table in self._tables and (result.has_pair or table == 'frames'):
                self._tables[table].write(columns(frame, result))
        old = self.summary
        self.summary = replace(
            old, frames=old.frames + 1, pairs=old.pairs + result.has_pair,
            keypoints=old.keypoints + len(result.labels), width=frame.size[0],
            height=frame.size[1], first_stamp=old.first_stamp or result.stamp)


def described(summary: Summary, job: Job, motions: pa.Table, frames: pa.Table) -> Summary:
    """Return a summary with what its motions show: spans, bodies, time with motion."""
    spans = spans_of(motions)
    times = frames['time'].to_numpy()
    seen = frames['bodies'].to_numpy() > 0
    period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    return replace(summary, settings=job.settings_digest, code=job.code, run=job.run, spans=spans,
                   bodies=len({span.body for span in spans}),
                   seconds=round(float(times[-1] - times[0]), 3),
                   moving_seconds=round(float(seen.sum()) * period, 3))


def spans_of(motions: pa.Table) -> tuple[Span, ...]:
    """Return the spans in which each body was seen, ordered by time."""
    columns = {name: motions[name].to_numpy()
               for name in ('id', 'time', 'count', 'moving', 'left', 'top', 'right', 'bottom')}
    spans = []
    for body in np.unique(columns['id'][columns['id'] > WORLD]):
        rows = np.flatnonzero(columns['id'] == body)
        rows = rows[np.argsort(columns['time'][rows], kind='stable')]
        breaks = np.flatnonzero(np.diff(columns['time'][rows]) > JOIN_S) + 1
        for group in np.split(rows, breaks):
            mean = {name: round(float(np.mean(values[group])), 3)
                    for name, values in columns.items()}
            spans.append(Span(
                int(body), float(columns['time'][group[0]]), float(columns['time'][group[-1]]),
                len(group), mean['count'], mean['moving'],
                (mean['left'], mean['top'], mean['right'], mean['bottom'])))
    return tuple(sorted(spans, key=lambda span: (span.start, span.body)))
