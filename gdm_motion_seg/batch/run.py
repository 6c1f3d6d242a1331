# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A run of ``batch``: submits recordings and parts to the scheduler and collects the results."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import json
import threading
import time
from typing import Any

from distributed import as_completed, Client, Future
import pyarrow as pa
from pyarrow import parquet

from gdm_motion_seg.batch.cluster import RETRIES
from gdm_motion_seg.batch.job import Job, Part
from gdm_motion_seg.batch.recordings import Recording
from gdm_motion_seg.batch.report import overview_page, Totals
from gdm_motion_seg.batch.results import (finished, read_summary, Summary, summary_name,
                                          tracks_name)
from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tasks import (DONE, FAILED, FULL, join_parts, OTHER_CODE, Outcome,
                                        process_part, process_recording, SPLIT, TOPIC,
                                        track_recording, TRACKED)
from gdm_motion_seg.errors import GdmMotionSegError

TRACKING, SEGMENTING, JOINING = 0, 1, 2
"""Priorities: started recordings are finished first, so that few files of tracks are on the disk.
Other recordings have lower priorities, in their order."""
SUMMARY = pa.schema([
    ('recording', pa.string()), ('status', pa.string()), ('reason', pa.string()),
    ('url', pa.string()), ('frames', pa.int64()), ('pairs', pa.int64()),
    ('keypoints', pa.int64()), ('skipped', pa.int64()), ('width', pa.int32()),
    ('height', pa.int32()), ('first_stamp', pa.int64()), ('seconds', pa.float64()),
    ('moving_seconds', pa.float64()), ('bodies', pa.int32()), ('parts', pa.int32()),
    ('compute_seconds', pa.float64()), ('settings', pa.string()), ('code', pa.string()),
    ('run', pa.string())])
"""The columns of ``summary.parquet``: one row per recording."""


@dataclass
class Progress:
    """Progress of a run, in bytes of the recordings."""

    total: float
    done: float = 0.0
    running: dict[tuple[str, int], float] = field(default_factory=dict)
    """Progress of the parts that are being processed."""
    started: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> float:
        """Return the finished share, in [0, 1]."""
        done = self.done + sum(list(self.running.values()))
        return min(1.0, done / self.total) if self.total else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate the remaining time; None at the beginning."""
        passed = time.monotonic() - self.started
        return passed * (1.0 / self.share - 1.0) if self.share > 0.01 else None


@dataclass(frozen=True)
class _Task:
    """The task of a future."""

    recording: Recording
    part: Part | None = None
    tracks: tuple[Part, ...] = ()
    joins: tuple[Part, ...] = ()


class BatchRun:
    """Processes a list of recordings on a cluster; finished results are in the store."""

    def __init__(self, job: Job, recordings: Sequence[Recording]) -> None:
        """Find the recordings that earlier runs have finished."""
        self.job, self.recordings = job, recordings
        self.store = Store(job.out)
        self.summaries: dict[str, Summary] = {}
        self.failures: dict[str, str] = {}
        self.computed: list[str] = []
        self.started = time.monotonic()
        self._keys = {recording.name: job.key(recording) for recording in recordings}
        self._tasks: dict['Future[Any]', _Task] = {}
        self._waiting: dict[str, set[int]] = {}
        """Number of parts of each long recording that are not segmented yet."""
        self._handed_out: dict[str, int] = {}
        """Number of parts of each long recording that were submitted."""
        self._parts: dict[str, tuple[Part, ...]] = {}
        self._submitting = threading.Lock()
        """Events arrive in a separate thread."""
        self._starts: Counter[tuple[str, int]] = Counter()
        self._submitted: Counter[_Task] = Counter()
        self._counted: set[tuple[str, int]] = set()
        self._by_name = {recording.name: recording for recording in recordings}
        self._sizes = {recording.name: max(1, recording.size) for recording in recordings}
        self.missing = [recording for recording in recordings if not self._kept(recording)]
        """Recordings that must be computed."""
        self._progress = Progress(float(sum(self._sizes[r.name] for r in self.missing)))

    def work(self, client: Client, say: Callable[[str], None] = lambda line: None,
             show: Callable[[Progress], None] = lambda progress: None) -> None:
        """
        Compute what is missing; raises GdmMotionSegError if it cannot continue.

        Parameters
        ----------
        client :
            Client of the cluster.
        say :
            Called with a line about each recording and part that ends.
        show :
            Called with the progress whenever it changes.

        """
        self.client, self._say, self._show = client, say, show
        self._log = _RunLog(self.store, self.job.run)
        self.client.subscribe_topic(TOPIC, self._hear)
        self._log.write({'event': 'begin', 'client_cpu': time.process_time()})
        try:
            self._queue = as_completed(loop=self.client.loop, raise_errors=False)
            for i, recording in enumerate(self.missing):
                self._submit(_Task(recording), -i)
            for future in self._queue:
                self._take(future)
        finally:
            self.client.unsubscribe_topic(TOPIC)
            self.client.cancel(list(self._tasks), force=True)
            self._log.write({'event': 'finish', 'client_cpu': time.process_time()})
            self._log.close()

    def sum_up(self, workers: int) -> None:
        """Write ``summary.parquet`` and the report of all recordings in the output folder."""
        names = [name.removesuffix('.json') for name in self.store.names('recordings')
                 if name.endswith('.json')]
        found = (self.summaries.get(name) or read_summary(self.store, summary_name(name))
                 for name in names)
        summaries = [summary for summary in found if summary is not None]
        failures = {name: reason for name, reason in self.failures.items()
                    if name not in {summary.name for summary in summaries}}
        with self.store.writing('summary.parquet') as file:
            parquet.write_table(_summary_table(summaries, failures), file)
        totals = Totals(self.job.run, time.monotonic() - self.started, workers,
                        len(self.computed), failures, self.job.settings_digest, self.job.code)
        self.store.write('report.html', overview_page(summaries, totals).encode())

    def _kept(self, recording: Recording) -> bool:
        """Add a recording that an earlier run finished; False if it must be computed."""
        summary = finished(self.store, recording.name, self._keys[recording.name])
        if summary is None:
            return False
        self.summaries[recording.name] = summary
        return True

    def _submit(self, task: _Task, priority: int = TRACKING) -> None:
        name = task.recording.name
        arguments = (self.job, task.recording, self._keys[name])
        self._submitted[task] += 1
        kind: Callable[..., Outcome]
        rest: tuple[Any, ...]
        if task.joins:
            kind, rest, priority = join_parts, (task.joins,), JOINING
        elif task.part is not None:
            before = self._parts[name][task.part.index - 1] if task.part.index else None
            kind, rest, priority = process_part, (task.part, before), SEGMENTING
        elif task.tracks:
            kind, rest, priority = track_recording, (task.tracks,), TRACKING
        else:
            kind, rest = process_recording, ()
        index = f'-{task.part.index}' if task.part else ''
        key = f'{kind.__name__}-{self.job.run}-{name}{index}-{self._submitted[task]}'
        future = self.client.submit(kind, *arguments, *rest, key=key, retries=RETRIES,
                                    priority=priority, pure=False)
        self._tasks[future] = task
        self._queue.add(future)

    def _take(self, future: 'Future[Any]') -> None:
        """Handle a finished future and submit the tasks that follow."""
        task = self._tasks.pop(future, None)
        if task is None:
            return  # it was cancelled because another part of its recording failed
        outcome = self._outcome(future, task)
        future.release()
        if outcome is None:
            self._submit(task)
            return
        if outcome.status in (FULL, OTHER_CODE):
            raise GdmMotionSegError(f'{outcome.reason}; finished work is kept in {self.job.out}')
        name = task.recording.name
        self._log.write({'event': outcome.status, 'recording': name, 'reason': outcome.reason,
                         'part': task.part.index if task.part else None})
        if outcome.status == FAILED:
            self._fail(task, outcome.reason)
            return
        if outcome.status == SPLIT:
            self._parts[name], self._handed_out[name] = outcome.parts, 0
            self._waiting[name] = {part.index for part in outcome.parts}
            self._submit(_Task(task.recording, tracks=outcome.parts))
            return
        if task.tracks:
            self._hand_out(task.recording, len(task.tracks))
            return
        if task.part is not None:
            self._part_done(task, task.part)
            return
        assert outcome.summary is not None
        self.summaries[name] = outcome.summary
        self.computed += [name] if outcome.status == DONE else []
        if not task.joins:
            self._count(task)
        self._ended(f'{name}: {outcome.summary.frames} frames, {outcome.summary.bodies} bodies')

    def _hand_out(self, recording: Recording, count: int) -> None:
        """Submit the first parts of a recording whose tracks are written."""
        name = recording.name
        with self._submitting:
            if name not in self.failures:
                for part in self._parts[name][self._handed_out[name]:count]:
                    self._submit(_Task(recording, part))
            self._handed_out[name] = max(count, self._handed_out[name])

    def _outcome(self, future: 'Future[Any]', task: _Task) -> Outcome | None:
        """Return the outcome of a task; None if it was submitted again."""
        from distributed.scheduler import KilledWorker, NoWorkerError
        if future.status in ('cancelled', 'lost'):
            raise GdmMotionSegError('the scheduler does not answer any more; finished work '
                                    f'is kept in {self.job.out}')
        error = future.exception()
        if error is None:
            outcome: Outcome = future.result()
            return outcome
        if isinstance(error, NoWorkerError):
            raise GdmMotionSegError('all workers died, and none can be started (is '
                                    'their memory limit too low?); finished work is kept in '
                                    f'{self.job.out}')
        if isinstance(error, KilledWorker):
            where = (task.recording.name, task.part.index if task.part else 0)
            # A task may only have waited on a worker that another task killed.
            if self._starts[where] <= RETRIES and self._submitted[task] <= RETRIES:
                return None
            return Outcome(FAILED, f'{RETRIES + 1} workers died while they processed it (out of '
                           'memory, or killed)')
        reason = ' '.join(str(error).split())
        return Outcome(FAILED, f'{type(error).__name__}: {reason[:300]}')

    def _part_done(self, task: _Task, part: Part) -> None:
        name = task.recording.name
        waiting, parts = self._waiting[name], self._parts[name]
        waiting.discard(part.index)
        self._count(task)
        self._ended(f'{name}: part {part.index + 1} of {part.count}')
        # A part needs its own tracks and, for the overlap, those of the part before.
        for one in (part, *parts[max(0, part.index - 1):part.index]):
            if not {one.index, one.index + 1} & waiting:
                self.store.remove(tracks_name(name, self._keys[name], one))
        if not waiting and name not in self.failures:
            self._submit(_Task(task.recording, joins=parts))

    def _fail(self, task: _Task, reason: str) -> None:
        """Note a failure; waiting parts of the recording are cancelled."""
        name = task.recording.name
        with self._submitting:
            self.failures.setdefault(name, reason)
            others = [future for future, other in self._tasks.items()
                      if other.recording.name == name
                      and (name, other.part.index if other.part else 0) not in self._starts]
            for future in others:
                del self._tasks[future]
        self._count(task)
        self._ended(f'{name}: failed: {reason}')
        self.client.cancel(others)

    def _count(self, task: _Task) -> None:
        """Count a recording or part as done."""
        index, count = (task.part.index, task.part.count) if task.part else (0, 1)
        self._counted.add((task.recording.name, index))
        self._progress.running.pop((task.recording.name, index), None)
        self._progress.done += self._sizes[task.recording.name] / count

    def _ended(self, line: str) -> None:
        """Print what ended, and the remaining time."""
        finished_count = len(self.summaries) + len(self.failures)
        left = self._progress.seconds_left
        estimate = '' if left is None else f', about {left:.0f} s left'
        self._say(f'[{finished_count}/{len(self.recordings)}, {self._progress.share:.0%}'
                  f'{estimate}] {line}')
        self._show(self._progress)

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """Handle an event of a worker."""
        message = event[1]
        if message['run'] != self.job.run:
            return  # from another command on the same scheduler
        part = (message['recording'], message['part'])
        if message['event'] == 'start':
            self._starts[part] += 1
        elif message['event'] == TRACKED:
            self._hand_out(self._by_name[part[0]], part[1] + 1)
        elif message['event'] == 'frames' and part not in self._counted:
            size = self._sizes[part[0]] / message['parts']
            self._progress.running[part] = min(1.0, message['share']) * size
            self._show(self._progress)
        self._log.write(message)


class _RunLog:
    """The file ``runs/RUN.jsonl``, with one line per event."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._name = store, f'runs/{run}.jsonl'
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._file: Any = None
        if store.is_local:
            store.fs.makedirs(store.path('runs'), exist_ok=True)
            self._file = open(store.path(self._name), 'a', encoding='utf-8', buffering=1)

    def write(self, message: dict[str, Any]) -> None:
        """Add a line; thread-safe."""
        line = json.dumps({'clock': time.time(), **message})
        with self._lock:
            if self._file is None:
                self._lines.append(line)
            elif not self._file.closed:
                self._file.write(line + '\n')

    def close(self) -> None:
        """End the log; an object store gets it as a whole."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            else:
                self._store.write(self._name, ''.join(f'{x}\n' for x in self._lines).encode())


def _summary_table(summaries: Sequence[Summary], failures: dict[str, str]) -> pa.Table:
    rows = [{'recording': s.name, 'status': 'finished',
             **{name: getattr(s, name) for name in SUMMARY.names if hasattr(s, name)}}
            for s in summaries]
    rows += [{'recording': name, 'status': 'failed', 'reason': reason}
             for name, reason in sorted(failures.items())]
    return pa.Table.from_pylist(rows, SUMMARY)
