# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Methods x pairs x seeds on all cores, with a progress bar, resumable."""

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
import multiprocessing
import os
from pathlib import Path
import signal
import time
import zlib

import cv2
import numba
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gdm_motion_seg.errors import GdmMotionSegError, MissingDependencyError
from gdm_motion_seg_tools.bench.benchmark import common_row, GIVEN, Row, STATIC
from gdm_motion_seg_tools.bench.cache import fingerprint, RowCache
from gdm_motion_seg_tools.bench.methods.base import Prediction
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.registry import BENCHMARKS
from gdm_motion_seg_tools.datasets.pair import LabelledPair
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene

_ONE_THREAD = dict.fromkeys((
    'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS',
    'OPENCV_FOR_THREADS_NUM', 'VECLIB_MAXIMUM_THREADS'), '1')
"""Environment of the workers: one worker per core, one thread each."""


@dataclass(frozen=True)
class Task:
    """One method on one pair in one mode with one seed."""

    benchmark: str
    method: str
    pair: LabelledPair
    mode: str
    seed: int

    @property
    def key(self) -> str:
        """Return the key of the task in the cache."""
        return f'{self.method}|{self.pair.name}|{self.mode}|{self.seed}'


def run_tasks(tasks: Sequence[Task], jobs: int, cache_file: Path | None = None,
              console: Console | None = None) -> list[Row]:
    """Run every task that is not in the cache; returns rows in the order of the tasks."""
    states = _states(tasks)
    with RowCache(cache_file) as cache:
        rows = {task.key: row for task in tasks
                if (row := cache.get(task.key, states[task.key])) is not None}
        todo = [task for task in tasks if task.key not in rows]
        with _progress(console) as progress:
            bar = progress.add_task(tasks[0].benchmark if tasks else '', total=len(tasks),
                                    completed=len(rows))
            for task, row in _in_processes(todo, jobs):
                rows[task.key] = row
                cache.put(task.key, states[task.key], row)
                progress.advance(bar)
    return [rows[task.key] for task in tasks]


def run_task(task: Task) -> Row:
    """Run one task and measure it; if a method fails, every point is an outlier."""
    method, benchmark = METHODS[task.method], BENCHMARKS[task.benchmark]
    pair = task.pair.only_background() if task.mode == STATIC else task.pair
    n_motions = pair.n_motions if task.mode == GIVEN else 0
    seed = [task.seed, zlib.crc32(pair.name.encode())]
    failure = ''
    start = time.perf_counter()
    try:
        prediction = _checked(method.segment(pair, n_motions, np.random.default_rng(seed)), pair)
    except MissingDependencyError:
        raise
    except Exception as error:  # an error of a method must not end the run of the others
        failure = f'{type(error).__name__}: {error}'
        prediction = Prediction(np.full(len(pair), -1, np.int64))
    seconds = time.perf_counter() - start
    return {'method': task.method, 'pair': pair.name, 'group': pair.group, 'mode': task.mode,
            'seed': task.seed, **common_row(pair, prediction),
            **benchmark.measure(pair, prediction, method, task.mode),
            'seconds': seconds, 'failure': failure}


def _checked(prediction: Prediction, pair: LabelledPair) -> Prediction:
    labels = np.asarray(prediction.labels)
    if labels.shape != (len(pair),) or labels.dtype.kind not in 'iu' or labels.min(initial=0) < -1:
        raise ValueError(f'the labels are not {len(pair)} integers of at least -1')
    return prediction


def plan(benchmark: str, methods: Sequence[str], pairs: Sequence[LabelledPair], seeds: int,
         ) -> list[Task]:
    """Return the tasks, with seeds outermost, so that an interrupted run covers every pair."""
    return [Task(benchmark, name, pair, mode, seed)
            for seed in range(seeds) for name in methods
            for mode in BENCHMARKS[benchmark].modes if mode == GIVEN or METHODS[name].finds_k
            for pair in pairs if mode != STATIC or pair.background is not None]


def _states(tasks: Sequence[Task]) -> dict[str, str]:
    """Return a digest of data and code for each task."""
    prints = {name: fingerprint(METHODS[name], BENCHMARKS[tasks[0].benchmark])
              for name in {task.method for task in tasks}}
    digests = {id(task.pair): '' for task in tasks}
    for task in tasks:
        digests[id(task.pair)] = digests[id(task.pair)] or _digest(task.pair)
    return {task.key: f'{digests[id(task.pair)]}-{prints[task.method]}' for task in tasks}


def _in_processes(todo: Sequence[Task], jobs: int) -> Iterator[tuple[Task, Row]]:
    if not todo:
        return
    context = multiprocessing.get_context('spawn')
    with _environment(_ONE_THREAD), ProcessPoolExecutor(
            min(jobs, len(todo)), mp_context=context, initializer=_start_worker) as pool:
        futures: dict[Future[Row], Task] = {pool.submit(_warm_run, task): task for task in todo}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise GdmMotionSegError('a worker process died; run the command again to go on from '
                                    'the last finished row') from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_warm: set[str] = set()


def _warm_run(task: Task) -> Row:
    """Run a task after a first run that compiles and loads."""
    method = METHODS[task.method]
    if method.warm_up and task.method not in _warm:
        _warm.add(task.method)
        scene = make_scene(Scene(n_points=90, n_motions=3, outliers=0.1), np.random.default_rng(0))
        for n_motions in (2, 3, 0) if method.finds_k else (2, 3):
            with suppress(Exception):  # the measured run reports the error
                method.segment(scene, n_motions, np.random.default_rng(0))
    return run_task(task)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    cv2.setNumThreads(1)
    numba.set_num_threads(1)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for child processes."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _progress(console: Console | None) -> Progress:
    console = console or Console(stderr=True)
    return Progress(TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(),
                    TimeRemainingColumn(), console=console, disable=not console.is_terminal)


def _digest(pair: LabelledPair) -> str:
    value = 0
    for array in (pair.x1, pair.x2, pair.truth, np.array(pair.image_size)):
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return f'{value:08x}'
