# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The tasks of the workers: a whole recording, or the steps of a long one.

A long recording is tracked from beginning to end. Other workers segment its parts as soon as their
tracks are written. Then the parts are joined.

A task returns an Outcome. It raises only errors that may be temporary (a network file system that
does not answer); the scheduler then retries it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass, replace
import errno
from functools import wraps
from itertools import chain
import json
import math
import os
import time
from typing import Any, Concatenate, ParamSpec

import numpy as np
import pyarrow as pa

from gdm_motion_seg.batch.job import code_digest, Job, Part, SEGMENTED_FRAMES
from gdm_motion_seg.batch.recordings import Recording
from gdm_motion_seg.batch.report import recording_page
from gdm_motion_seg.batch.results import (described, finished, forget, page_name, part_name,
                                          PartWriter, read_summary, Summary, summary_name,
                                          table_name, tracking_name, tracks_name)
from gdm_motion_seg.batch.stitch import FIXED, Mapping, Seen, stitch
from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tables import open_table, SCHEMAS, TableFile
from gdm_motion_seg.batch.tracks import Moment, read_tracks, TracksFile
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.bags import is_bag
from gdm_motion_seg.io.frames import Frame, FrameSource
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.stream import answers
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg.tracking.window import TrackedFrame

TOPIC = 'gdm-motion-seg'
"""Topic of the scheduler events that workers send."""
TRACKED = 'tracked'
"""The event that the tracks of a part are written."""
TRACKING_SHARE = 0.3
"""Share of tracking in the work on a part, for the progress only."""
TELL_S = 1.0
"""Time between two events of a part."""
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})

DONE, KEPT, SPLIT, FAILED, FULL, OTHER_CODE = 'done', 'kept', 'split', 'failed', 'full', 'code'


@dataclass(frozen=True)
class Outcome:
    """The result of a task."""

    status: str
    """DONE, KEPT (was finished before), SPLIT (must be divided), FAILED (the input cannot be
    used), FULL (no space), OTHER_CODE (the worker has another version)."""
    reason: str = ''
    summary: Summary | None = None
    parts: tuple[Part, ...] = ()


P = ParamSpec('P')


def _told(task: Callable[Concatenate[Job, P], Outcome]) -> Callable[Concatenate[Job, P], Outcome]:
    """Decorate a task so that it returns permanent errors as an Outcome."""
    @wraps(task)
    def run(job: Job, /, *args: P.args, **kwargs: P.kwargs) -> Outcome:
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
    """Process a whole recording, or return the parts into which it must be divided."""
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
            summary = _process(job, recording, source, writer)
    return _finish(job, recording, replace(summary, key=key), store)


@_told
def track_recording(job: Job, recording: Recording, key: str, parts: Sequence[Part]) -> Outcome:
    """
    Track a long recording from its beginning to its end, and write the tracks of each part.

    Tracks depend on all frames before them: a part with its own corners would give other results
    than an undivided run. Only tracks that a part still needs are written.
    """
    store, begin = Store(job.out), time.monotonic()
    missing = _missing_tracks(store, recording, key, parts)
    if not missing and store.exists(tracking_name(recording.name, key)):
        return Outcome(KEPT)
    pipeline = MotionPipeline(job.config, job.config.seed)
    with _opened(job, recording) as source:
        frames = _tracked(source, pipeline)
        ahead = next(frames, None)
        for part in parts:
            tell = _Teller(job.run, recording, part)
            with ExitStack() as stack:
                file = stack.enter_context(TracksFile(store, tracks_name(
                    recording.name, key, part))) if part in missing else None
                while ahead is not None and ahead[0].at < part.stop:
                    if file is not None:
                        file.write(*ahead)
                    tell.now_and_then(TRACKING_SHARE * (ahead[0].at - part.start)
                                      / part.length)
                    ahead = next(frames, None)
            tell(TRACKED)
        about = {'skipped': source.skipped, 'compute_seconds': time.monotonic() - begin}
    store.write(tracking_name(recording.name, key), json.dumps(about).encode())
    return Outcome(DONE)


def _tracked(source: FrameSource, pipeline: MotionPipeline
             ) -> Iterator[tuple[Frame, TrackedFrame, Camera | None]]:
    for frame in source:
        yield frame, pipeline.track(frame.image, frame.stamp), source.camera_of(frame)


def _missing_tracks(store: Store, recording: Recording, key: str, parts: Sequence[Part]
                    ) -> list[Part]:
    """Return the parts whose tracks are missing and still needed by it or the next part."""
    open_parts = {part.index for part in parts if not store.exists(
        f'{part_name(recording.name, key, part)}.json')}
    return [part for part in parts if {part.index, part.index + 1} & open_parts
            and not store.exists(tracks_name(recording.name, key, part))]


@_told
def process_part(job: Job, recording: Recording, key: str, part: Part,
                 before: Part | None = None) -> Outcome:
    """Segment a part of a long recording; its tracks and those of the previous part must exist."""
    store, stem = Store(job.out), part_name(recording.name, key, part)
    summary = read_summary(store, f'{stem}.json')
    if summary is not None:
        return Outcome(KEPT, summary=summary)
    files = {table: f'{stem}.{table}.parquet' for table in SCHEMAS}
    tell, begin = _Teller(job.run, recording, part), time.monotonic()
    pipeline = MotionPipeline(job.config, job.config.seed)
    moments = read_tracks(store, tracks_name(recording.name, key, part))
    if before is not None:
        moments = chain(_thinned(store, tracks_name(recording.name, key, before), part), moments)
    tell('start')
    with PartWriter(store, files, f'{stem}.overlap.parquet') as writer:
        for moment in moments:
            pipeline.camera = moment.camera
            result = pipeline.segment(moment.tracked)
            (writer.warm_up if moment.at < part.start else writer.write)(moment, result)
            tell.now_and_then(TRACKING_SHARE + (1.0 - TRACKING_SHARE)
                              * (moment.at - part.warm_up) / part.length)
    tell('end', 1.0)
    summary = replace(writer.summary, name=recording.name, url=recording.url, key=key,
                      run=job.run, compute_seconds=time.monotonic() - begin)
    store.write(f'{stem}.json', summary.to_json())
    return Outcome(DONE, summary=summary)


def _thinned(store: Store, name: str, part: Part) -> list[Moment]:
    """
    Return the frames of the overlap with the part before, fewer than were recorded.

    The memory of the segmentation depends on time, not on the number of frames.
    """
    moments = list(read_tracks(store, name, part.warm_up))
    step = max(1, len(moments) // SEGMENTED_FRAMES)
    return moments[(len(moments) - 1) % step::step]


@_told
def join_parts(job: Job, recording: Recording, key: str, parts: Sequence[Part]) -> Outcome:
    """Join the parts of a recording, with consistent ids."""
    store = Store(job.out)
    kept = finished(store, recording.name, key)
    if kept is not None:
        return Outcome(KEPT, summary=kept)
    stems = [part_name(recording.name, key, part) for part in parts]
    total = _total(recording, [Summary.from_json(store.read(f'{stem}.json')) for stem in stems])
    tracking = json.loads(store.read(tracking_name(recording.name, key)))
    total = replace(total, skipped=tracking['skipped'],
                    compute_seconds=total.compute_seconds + tracking['compute_seconds'])
    forget(store, recording.name)
    mappings = [*_mappings(store, stems)]
    since: dict[int, int] = {}
    for table in _wanted(job):
        with TableFile(store, table_name(table, recording.name), SCHEMAS[table]) as file:
            for stem, labels in zip(stems, mappings):
                for batch in open_table(store, f'{stem}.{table}.parquet').iter_batches():
                    file.write_batch(_renamed(batch, labels, since))
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


def _process(job: Job, recording: Recording, source: FrameSource, writer: PartWriter) -> Summary:
    """Run a recording through the pipeline and write its tables; returns the summary."""
    pipeline = MotionPipeline(job.config, job.config.seed)
    tell, begin = _Teller(job.run, recording, Part(0)), time.monotonic()
    length = source.seconds or math.inf
    tell('start')
    for frame, result, _ in answers(source, pipeline):
        writer.write(frame, result)
        tell.now_and_then(frame.at / length)
    tell('end', 1.0)
    return replace(writer.summary, name=recording.name, url=recording.url,
                   skipped=source.skipped, compute_seconds=time.monotonic() - begin)


def _finish(job: Job, recording: Recording, summary: Summary, store: Store) -> Outcome:
    """Write the page of a recording, and last the summary that marks it as finished."""
    motions, frames = (open_table(store, table_name(table, recording.name)).read()
                       for table in ('motions', 'frames'))
    summary = described(summary, job, motions, frames)
    store.write(page_name(recording.name), recording_page(summary).encode())
    store.write(summary_name(recording.name), summary.to_json())
    return Outcome(DONE, summary=summary)


def _total(recording: Recording, parts: Sequence[Summary]) -> Summary:
    """Return the summary of all parts; raises InputError if no frame can be used."""
    filled = [part for part in parts if part.frames]
    if not filled:
        raise InputError(f'{recording.url} contains no image that can be read')
    sums = {name: sum(getattr(part, name) for part in parts)
            for name in ('frames', 'pairs', 'keypoints', 'compute_seconds')}
    return replace(filled[0], parts=len(parts), **sums)


def _mappings(store: Store, stems: Sequence[str]) -> Iterator[Mapping]:
    """Yield the new labels of each part."""
    labels, next_body = Mapping(FIXED), 1
    for i, stem in enumerate(stems):
        if i:
            after = _seen(store, f'{stem}.overlap.parquet', Mapping(FIXED))
            first = int(after.stamp.min()) if len(after.stamp) else None
            before = _seen(store, f'{stems[i - 1]}.keypoints.parquet', labels, first)
            labels = stitch(before, after, next_body)
        yield labels
        for batch in open_table(store, f'{stem}.keypoints.parquet').iter_batches(
                columns=['label']):
            if batch.num_rows:
                next_body = max(next_body, int(labels(batch['label']).max()) + 1)


def _seen(store: Store, name: str, labels: Mapping, first: int | None = None) -> Seen:
    """Read keypoints from a stamp on, and apply the final ids."""
    table = open_table(store, name).read(columns=['stamp', 'track_id', 'label'])
    stamp = table['stamp'].to_numpy()
    rows = np.flatnonzero(stamp >= first) if first is not None else np.arange(len(stamp))
    return Seen(stamp[rows], table['track_id'].to_numpy()[rows],
                labels(table['label'].to_numpy()[rows]))


def _renamed(batch: pa.RecordBatch, labels: Mapping, since: dict[int, int]) -> pa.RecordBatch:
    """Return rows with final ids; ``since`` has the time at which each body was first seen."""
    columns: dict[str, Any] = dict(zip(batch.schema.names, batch.columns))
    for name in ('label', 'id'):
        if name in columns:
            columns[name] = labels(columns[name])
    if 'since' in columns:
        columns['since'] = [since.setdefault(int(body), begin) for body, begin
                            in zip(columns['id'], columns['since'].to_pylist())]
    return pa.record_batch([pa.array(columns[field.name], field.type) for field in batch.schema],
                           schema=batch.schema)


class _Teller:
    """Sends the progress of a part to the scheduler, for the progress bar and the log."""

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
        """Send an event with the finished share of the part."""
        if self._worker is not None:
            self._worker.log_event(TOPIC, {**self._about, 'event': event, 'share': share,
                                           'clock': time.time(), 'cpu': time.process_time()})

    def now_and_then(self, share: float) -> None:
        """Send the progress, if enough time has passed since the last event."""
        if time.monotonic() - self._last >= TELL_S:
            self._last = time.monotonic()
            self('frames', share)
