# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What runs on a worker: a recording in one piece, a part of a long one, the joining of parts.

A task returns an Outcome that says what happened. Only what may go well at another time (a network
file system that does not answer) is raised, and tried again by the scheduler.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
import errno
from functools import wraps
import math
import os
import time
from typing import Any, Concatenate, ParamSpec

import numpy as np
import pyarrow as pa

from gdm_motion_seg.batch.job import code_digest, Job, Part
from gdm_motion_seg.batch.recordings import Recording
from gdm_motion_seg.batch.report import recording_page
from gdm_motion_seg.batch.results import (described, finished, forget, page_name, part_name,
                                          PartWriter, read_summary, Summary, summary_name,
                                          table_name)
from gdm_motion_seg.batch.stitch import FIXED, Mapping, Seen, stitch
from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tables import open_table, SCHEMAS, TableFile
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import is_bag
from gdm_motion_seg.io.frames import FrameSource
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.stream import answers
from gdm_motion_seg.pipeline import MotionPipeline

TOPIC = 'gdm-motion-seg'
"""Events of the scheduler by which workers say what they do."""
TELL_S = 1.0
"""Time between two events of a part."""
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})

DONE, KEPT, SPLIT, FAILED, FULL, OTHER_CODE = 'done', 'kept', 'split', 'failed', 'full', 'code'


@dataclass(frozen=True)
class Outcome:
    """What came of a task."""

    status: str
    """DONE, KEPT (was finished already), SPLIT (too long for one piece), FAILED (the input
    cannot be used), FULL (no space), OTHER_CODE (the worker has another version)."""
    reason: str = ''
    summary: Summary | None = None
    parts: tuple[Part, ...] = ()


P = ParamSpec('P')


def _told(task: Callable[Concatenate[Job, P], Outcome]) -> Callable[Concatenate[Job, P], Outcome]:
    """Let a task return as an Outcome what cannot go better another time."""
    @wraps(task)
    def run(job: Job, *args: P.args, **kwargs: P.kwargs) -> Outcome:
        if code_digest() != job.code:
            return Outcome(OTHER_CODE, f'the worker on {os.uname().nodename} has version '
                           f'{code_digest()} of gdm_motion_seg, this command {job.code}')
        try:
            return task(job, *args, **kwargs)
        except InputError as error:
            return Outcome(FAILED, str(error))
        except PermissionError as error:
            return Outcome(FAILED, f'{error.filename}: {error.strerror}')
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            return Outcome(FULL, str(error.strerror))
    return run


@_told
def process_recording(job: Job, recording: Recording, key: str) -> Outcome:
    """Process a recording in one piece, or say into which parts it is to be split."""
    store = Store(job.out)
    summary = finished(store, recording.name, key)
    if summary is not None:
        return Outcome(KEPT, summary=summary)
    with _opened(job, recording) as source:
        parts = job.parts(source.seconds, source.fps)
        if len(parts) > 1:
            return Outcome(SPLIT, parts=tuple(parts))
        forget(store, recording.name)
        files = {table: table_name(table, recording.name) for table in _wanted(job)}
        with PartWriter(store, files) as writer:
            summary = _process(job, recording, source, parts[0], writer)
    return _finish(job, recording, replace(summary, key=key), store)


@_told
def process_part(job: Job, recording: Recording, key: str, part: Part) -> Outcome:
    """Process a part of a long recording."""
    store, stem = Store(job.out), part_name(recording.name, key, part)
    summary = read_summary(store, f'{stem}.json')
    if summary is not None:
        return Outcome(KEPT, summary=summary)
    files = {table: f'{stem}.{table}.parquet' for table in SCHEMAS}
    with _opened(job, recording) as source:
        with PartWriter(store, files, f'{stem}.overlap.parquet') as writer:
            summary = _process(job, recording, source, part, writer)
    summary = replace(summary, key=key, run=job.run)
    store.write(f'{stem}.json', summary.to_json())
    return Outcome(DONE, summary=summary)


@_told
def join_parts(job: Job, recording: Recording, key: str, parts: Sequence[Part]) -> Outcome:
    """Join the parts of a recording, with ids that go on over the seams."""
    store = Store(job.out)
    kept = finished(store, recording.name, key)
    if kept is not None:
        return Outcome(KEPT, summary=kept)
    stems = [part_name(recording.name, key, part) for part in parts]
    total = _total(recording, [Summary.from_json(store.read(f'{stem}.json')) for stem in stems])
    forget(store, recording.name)
    mappings = [*_mappings(store, stems)]
    since: dict[int, int] = {}
    for table in _wanted(job):
        with TableFile(store, table_name(table, recording.name), SCHEMAS[table]) as file:
            for stem, (labels, tracks) in zip(stems, mappings):
                for batch in open_table(store, f'{stem}.{table}.parquet').iter_batches():
                    file.write_batch(_renamed(batch, labels, tracks, since))
    done = _finish(job, recording, total, store)
    store.remove(f'parts/{recording.name}')
    return done


def _wanted(job: Job) -> list[str]:
    return [table for table in SCHEMAS if job.keypoints or table != 'keypoints']


@contextmanager
def _opened(job: Job, recording: Recording) -> Iterator[FrameSource]:
    with recording.local_path() as path:
        topic = job.topic if is_bag(path) else None
        with open_source(path, topic, job.fps) as source:
            yield source


def _process(job: Job, recording: Recording, source: FrameSource, part: Part, writer: PartWriter
             ) -> Summary:
    """Run a part through the pipeline and write its tables; returns what they hold."""
    source.select(part.warm_up, part.stop)
    pipeline = MotionPipeline(job.config, job.config.seed)
    tell, begin = _Teller(job.run, recording, part), time.monotonic()
    length = min(part.stop, source.seconds or math.inf) - part.warm_up
    tell('start')
    for frame, result, _ in answers(source, pipeline):
        if frame.at < part.start:
            writer.warm_up(frame, result)
        else:
            writer.write(frame, result)
        tell.now_and_then((frame.at - part.warm_up) / length)
    tell('end', 1.0)
    return replace(writer.summary, name=recording.name, url=recording.url,
                   skipped=source.skipped, compute_seconds=time.monotonic() - begin)


def _finish(job: Job, recording: Recording, summary: Summary, store: Store) -> Outcome:
    """Write the page of a recording, and last the summary that says that it is finished."""
    motions, frames = (open_table(store, table_name(table, recording.name)).read()
                       for table in ('motions', 'frames'))
    summary = described(summary, job, motions, frames)
    store.write(page_name(recording.name), recording_page(summary).encode())
    store.write(summary_name(recording.name), summary.to_json())
    return Outcome(DONE, summary=summary)


def _total(recording: Recording, parts: Sequence[Summary]) -> Summary:
    """Sum up the parts; raises InputError as one piece would where nothing can be used."""
    filled = [part for part in parts if part.frames]
    if not filled:
        raise InputError(f'{recording.url} holds no image that can be read')
    sizes = {(part.width, part.height) for part in filled}
    if len(sizes) > 1:
        raise InputError(f'{recording.url} mixes sizes: ' + ' and '.join(
            f'{width} x {height} pixels' for width, height in sorted(sizes)))
    sums = {name: sum(getattr(part, name) for part in parts)
            for name in ('frames', 'pairs', 'keypoints', 'skipped', 'compute_seconds')}
    return replace(filled[0], parts=len(parts), **sums)


def _mappings(store: Store, stems: Sequence[str]) -> Iterator[tuple[Mapping, Mapping]]:
    """Yield the new labels and track ids of each part."""
    labels, tracks = Mapping(FIXED), Mapping()
    next_body, next_track = 1, 0
    for i, stem in enumerate(stems):
        if i:
            after = _seen(store, f'{stem}.overlap.parquet', Mapping(FIXED), Mapping())
            first = int(after.stamp.min()) if len(after.stamp) else None
            before = _seen(store, f'{stems[i - 1]}.keypoints.parquet', labels, tracks, first)
            labels, tracks = stitch(before, after, next_body, next_track)
        yield labels, tracks
        for batch in open_table(store, f'{stem}.keypoints.parquet').iter_batches(
                columns=['label', 'track_id']):
            if batch.num_rows:
                next_body = max(next_body, int(labels(batch['label']).max()) + 1)
                next_track = max(next_track, int(tracks(batch['track_id']).max()) + 1)


def _seen(store: Store, name: str, labels: Mapping, tracks: Mapping, first: int | None = None
          ) -> Seen:
    """Read keypoints, those from a stamp on, and give them final ids."""
    table = open_table(store, name).read(columns=['stamp', 'u', 'v', 'track_id', 'label'])
    stamp = table['stamp'].to_numpy()
    rows = np.flatnonzero(stamp >= first) if first is not None else np.arange(len(stamp))
    u, v, track, label = (table[name].to_numpy()[rows] for name in ('u', 'v', 'track_id', 'label'))
    return Seen(stamp[rows], np.column_stack((u, v)).astype(np.float64), tracks(track),
                labels(label))


def _renamed(batch: pa.RecordBatch, labels: Mapping, tracks: Mapping, since: dict[int, int]
             ) -> pa.RecordBatch:
    """Return rows with their final ids; ``since`` remembers when each body was seen first."""
    columns: dict[str, Any] = dict(zip(batch.schema.names, batch.columns))
    for name, mapping in (('label', labels), ('id', labels), ('track_id', tracks)):
        if name in columns:
            columns[name] = mapping(columns[name])
    if 'since' in columns:
        columns['since'] = [since.setdefault(int(body), begin) for body, begin
                            in zip(columns['id'], columns['since'].to_pylist())]
    return pa.record_batch([pa.array(columns[field.name], field.type) for field in batch.schema],
                           schema=batch.schema)


class _Teller:
    """Says to the scheduler how far a part is, for progress and for the log of the run."""

    def __init__(self, run: str, recording: Recording, part: Part) -> None:
        self._about = {'run': run, 'recording': recording.name, 'part': part.index,
                       'parts': part.count, 'pid': os.getpid(), 'host': os.uname().nodename}
        self._last = time.monotonic()
        try:
            from distributed import get_worker
            self._worker: Any = get_worker()
        except (ImportError, ValueError):
            self._worker = None

    def __call__(self, event: str, share: float = 0.0) -> None:
        """Send an event with the share of the part that is done."""
        if self._worker is not None:
            self._worker.log_event(TOPIC, {**self._about, 'event': event, 'share': share,
                                           'clock': time.time(), 'cpu': time.process_time()})

    def now_and_then(self, share: float) -> None:
        """Send how far it is, at most once in a while."""
        if time.monotonic() - self._last >= TELL_S:
            self._last = time.monotonic()
            self('frames', share)
