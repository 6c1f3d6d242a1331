# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``batch``."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timezone
import os
from typing import Any, TYPE_CHECKING
import uuid

from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import (add_overwrite_argument, add_settings_arguments, config_from,
                                      count, rate)
from gdm_motion_seg.cli.interruption import Terminated
from gdm_motion_seg.errors import MissingDependencyError

if TYPE_CHECKING:
    from gdm_motion_seg.batch.run import BatchRun, Progress

EXAMPLE = 'gdm-motion-seg batch logs/ more/*.mcap --out logs_motions'
SOME_FAILED = 1
PACKAGES = ('dask', 'distributed', 'pyarrow', 'fsspec')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``batch``."""
    parser.add_argument('inputs', nargs='+', metavar='INPUT',
                        help='a bag, a video or a folder of images; a folder to search for them; '
                        'a glob; a list file (.txt); paths or addresses (s3://, gs://, file://)')
    parser.add_argument('--out', required=True, metavar='DIR',
                        help='folder or address of the data set; the same command again computes '
                        'only what is missing or has changed')
    parser.add_argument('--topic', metavar='TOPIC',
                        help='the image topic; not needed if the bags have only one')
    parser.add_argument('--fps', type=rate, metavar='HZ',
                        help='frames per second of folders of images (default: 30)')
    parser.add_argument('--split', type=_seconds, metavar='S', default=20.0,
                        help='longer recordings are processed in parts of about this length '
                        '(default: 20 s; 0 does not divide them)')
    parser.add_argument('--overlap', type=_seconds, metavar='S', default=2.0,
                        help='time by which parts overlap (default: 2 s)')
    parser.add_argument('--no-keypoints', action='store_true',
                        help='do not write the table of keypoints, which is the largest')
    group = parser.add_argument_group('workers')
    group.add_argument('--workers', type=count, metavar='N',
                       help='processes on this machine (default: one per core)')
    group.add_argument('--memory', default='auto', metavar='SIZE',
                       help='memory limit of each process, such as 4GB (default: equal shares)')
    group.add_argument('--scheduler', metavar='ADDRESS',
                       help='use the workers of this Dask scheduler, such as tcp://host:8786')
    console.add_json_argument(parser)
    add_overwrite_argument(parser)
    add_settings_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Process the recordings; 0 if all are finished, 1 if some failed."""
    with needs_extra('batch'):
        from gdm_motion_seg.batch.cluster import check_shared, dashboard
        from gdm_motion_seg.batch.job import make_job
        from gdm_motion_seg.batch.recordings import find_recordings
        from gdm_motion_seg.batch.run import BatchRun
        from gdm_motion_seg.batch.store import OutputStore
    out = args.out if '://' in args.out else os.path.abspath(args.out)
    job = make_job(out, config_from(args), run=_run_name(), topic=args.topic, fps=args.fps,
                   split=args.split, overlap=args.overlap, keypoints=not args.no_keypoints)
    recordings = find_recordings(args.inputs)
    with OutputStore(out):
        batch = BatchRun(job, recordings)
        workers = 0
        try:
            if batch.missing:
                with _cluster(args) as client:
                    workers = len(client.nthreads())
                    _print_line(f'{len(batch.missing)} of {len(recordings)} recordings are to be '
                                f'computed by {workers} workers; {dashboard(client)}')
                    check_shared(client, out)
                    with _shown() as show:
                        batch.work(client, _print_line, show)
        except (KeyboardInterrupt, Terminated):
            _print_line(f'interrupted: {len(batch.summaries)} of {len(recordings)} recordings are '
                        'finished and kept; the same command continues from there')
            raise
        finally:
            batch.sum_up(workers)
    return _report(batch, args)


def _cluster(args: argparse.Namespace) -> AbstractContextManager[Any]:
    from gdm_motion_seg.batch.cluster import local_cluster, remote_cluster
    if args.scheduler:
        return remote_cluster(args.scheduler)
    return local_cluster(args.workers or len(os.sched_getaffinity(0)), args.memory)


def _report(batch: 'BatchRun', args: argparse.Namespace) -> int:
    summaries = [batch.summaries[r.name] for r in batch.recordings if r.name in batch.summaries]
    document = {'out': batch.job.out, 'recordings': len(batch.recordings),
                'finished': len(summaries), 'computed': batch.computed,
                'failures': batch.failures, 'frames': sum(s.frames for s in summaries),
                'seconds': round(sum(s.seconds for s in summaries), 3),
                'moving_seconds': round(sum(s.moving_seconds for s in summaries), 3)}
    if console.deliver(document, args.json, args.overwrite):
        console.screen.print(
            f'{len(summaries)} of {len(batch.recordings)} recordings are finished, '
            f'{len(batch.computed)} of them now; the report is {batch.store.path("report.html")}',
            highlight=False, soft_wrap=True)
    for name, reason in batch.failures.items():
        console.notes.print(f'failed: {name}: {reason}', highlight=False, markup=False,
                            soft_wrap=True)
    return SOME_FAILED if batch.failures else 0


@contextmanager
def needs_extra(command: str) -> Iterator[None]:
    """Say how to install a package that an import in the block does not find."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or '').partition('.')[0] not in PACKAGES:
            raise
        raise MissingDependencyError(
            f'{command} needs {error.name}, which is not installed: '
            "pip install 'gdm_motion_seg[batch]'") from None


@contextmanager
def _shown() -> Iterator[Callable[['Progress'], None]]:
    """Yield a function that shows the progress as a bar, on a terminal only."""
    if not console.notes.is_terminal:
        yield lambda progress: None
        return
    columns = (TextColumn('{task.description}'), BarColumn(),
               TextColumn('{task.percentage:.0f} %'), TimeElapsedColumn(),
               TextColumn('{task.fields[left]}'))
    with Bar(*columns, console=console.notes, transient=True) as bar:
        task = bar.add_task('batch', total=1.0, left='')

        def show(progress: 'Progress') -> None:
            left = progress.seconds_left
            bar.update(task, completed=progress.share,
                       left='' if left is None else f'about {left:.0f} s left')

        yield show


def _print_line(line: str) -> None:
    console.notes.print(line, highlight=False, markup=False, soft_wrap=True)


def _run_name() -> str:
    return f'{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}'


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1e6:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of seconds of at least 0')
    return value
