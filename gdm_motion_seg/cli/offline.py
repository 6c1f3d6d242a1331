# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The common part of ``video`` and ``bag``: processes frames and writes files, without ROS."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
import time
from typing import Any

import numpy as np

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import (add_output_arguments, add_settings_arguments, config_from,
                                      count, pixels)
from gdm_motion_seg.cli.interruption import INTERRUPTED, Stop, stopped_by_ctrl_c
from gdm_motion_seg.io.answers import AnswerFiles, VIDEO
from gdm_motion_seg.io.bags import STORAGES
from gdm_motion_seg.io.frames import FrameSource
from gdm_motion_seg.io.masks import COLMAP_DILATION, MaskFiles
from gdm_motion_seg.io.output import output_file, output_folder
from gdm_motion_seg.io.stream import answers
from gdm_motion_seg.masks.recording import RecordingMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.segmentation.result import WORLD
from gdm_motion_seg.view.moments import Moment, moment_of
from gdm_motion_seg.view.page import about, need_video, page


@dataclass
class Summary:
    """Counters of an offline run."""

    frames: int = 0
    pairs: int = 0
    points: Counter[int] = field(default_factory=Counter)
    """Number of keypoints of each motion, over all pairs."""
    moving: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    """Sum of ``moving`` over the same keypoints."""
    outliers: int = 0
    interrupted: bool = False
    """Whether Ctrl-C ended the run early."""
    stages: dict[str, list[float]] = field(default_factory=dict)
    last_reason: str = ''

    def add(self, result: FrameResult) -> None:
        """Add one frame."""
        self.frames += 1
        self.last_reason = result.reason
        for stage, seconds in result.seconds.items():
            self.stages.setdefault(stage, []).append(seconds)
        if result.has_pair:
            self.pairs += 1
            self.outliers += int(np.sum(result.segmentation.labels < 0))
            for motion in result.segmentation.motions:
                self.points[motion.id] += motion.count
                self.moving[motion.id] += motion.moving * motion.count

    def document(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        medians = {stage: float(np.median(seconds)) for stage, seconds in self.stages.items()}
        return {'frames': self.frames, 'pairs': self.pairs, 'interrupted': self.interrupted,
                'motions': [{'id': i, 'world': i == WORLD, 'points': n,
                             'moving': round(self.moving[i] / n, 4)}
                            for i, n in sorted(self.points.items())],
                'outliers': self.outliers,
                'median_ms': {stage: round(1e3 * median, 3) for stage, median in medians.items()}}


def add_offline_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``video`` and ``bag``."""
    add_output_arguments(parser, 'name of the input with the suffix _motions')
    parser.add_argument('--storage', choices=tuple(STORAGES), default='mcap',
                        help='format of the bag (default: mcap)')
    parser.add_argument('--no-bag', action='store_true', help='do not write a bag')
    parser.add_argument('--no-video', action='store_true', help='do not write a video')
    parser.add_argument('--no-tables', action='store_true', help='do not write CSV tables')
    parser.add_argument('--masks', type=Path, metavar='DIR',
                        help='write a PNG mask per frame, named as COLMAP expects it: 0 on what '
                        'moves, 255 elsewhere')
    parser.add_argument('--instances', type=Path, metavar='DIR',
                        help='write a 16 bit PNG per frame: 0 the world, else the id of the body')
    parser.add_argument('--mask-dilation', type=pixels, default=COLMAP_DILATION, metavar='N',
                        help='pixels by which moving regions grow in masks '
                        f'(default: {COLMAP_DILATION})')
    parser.add_argument('--moving-is-white', action='store_true',
                        help='write masks with 255 on what moves and 0 elsewhere')
    parser.add_argument('--frames', type=count, metavar='N', help='stop after N frames')
    add_html_argument(parser)
    console.add_json_argument(parser)
    add_settings_arguments(parser)


def add_html_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--html FILE``."""
    parser.add_argument('--html', type=Path, metavar='FILE',
                        help='write an HTML file with the video, the bodies over time and the '
                        'settings')


def process(source: FrameSource, args: argparse.Namespace) -> int:
    """Run a source through the pipeline and write the requested files."""
    config = config_from(args)
    if args.html:
        need_video()
    out = args.out or Path(f'{source.path.stem or source.path.resolve().name}_motions')
    summary, start = Summary(), time.monotonic()
    with stopped_by_ctrl_c() as stop:
        with output_folder(out, args.overwrite) as folder, _mask_files(args, config) as masks:
            moments = _write_files(source, config, folder, masks, summary, stop, args)
            if args.html:
                told = about(source.path.name, config, source.live, source.fps)
                with output_file(args.html, args.overwrite) as file:
                    file.write_text(page(told, moments, folder / VIDEO), encoding='utf-8')
                if args.no_video:
                    (folder / VIDEO).unlink()
        _report(summary, source, out, time.monotonic() - start, args)
    # The stream of a camera has no end, so Ctrl-C is the usual way to end it.
    return INTERRUPTED if summary.interrupted and not source.live else 0


def _write_files(source: FrameSource, config: NodeConfig, folder: Path, masks: MaskFiles | None,
                 summary: Summary, stop: Stop, args: argparse.Namespace) -> list[Moment]:
    """Process the frames until the end or Ctrl-C; returns the moments for the HTML page."""
    pipeline, moments = MotionPipeline(config, config.seed), list[Moment]()
    total = min(filter(None, (source.count, args.frames)), default=None)
    with AnswerFiles(folder, source.fps, args.storage, not args.no_bag,
                     bool(args.html) or not args.no_video, not args.no_tables,
                     source.zero_stamp) as files, \
            console.progress_bar(source.path.name, total) as advance:
        for frame, result, camera in answers(source, pipeline):
            files.write(frame, result, camera)
            if masks:
                masks.write(frame, result)
            summary.add(result)
            if args.html:
                moments.append(moment_of(result, 1e3 * sum(result.seconds.values())))
            advance(summary.frames)
            stop.worthwhile = True
            if summary.frames == args.frames:
                break
            if stop.wanted:
                summary.interrupted = True
                break
    return moments


@contextmanager
def _mask_files(args: argparse.Namespace, config: NodeConfig) -> Iterator[MaskFiles | None]:
    """Yield the writer of masks and instances, or None; folders are complete or absent."""
    if args.masks is None and args.instances is None:
        yield None
        return
    with ExitStack() as stack:
        masks, instances = (
            None if path is None else stack.enter_context(output_folder(path, args.overwrite))
            for path in (args.masks, args.instances))
        files = MaskFiles(RecordingMasks(config, config.seed), masks, instances,
                          args.mask_dilation, args.moving_is_white)
        yield files
        files.close()


def _report(summary: Summary, source: FrameSource, out: Path, seconds: float,
            args: argparse.Namespace) -> None:
    document = {**summary.document(), 'out': str(out), 'skipped': source.skipped,
                'frames_per_second': round(summary.frames / max(seconds, 1e-9), 2)}
    if summary.interrupted:
        of = f' of {source.count}' if source.count else ''
        console.notes.print(f'stopped by Ctrl-C after {summary.frames}{of} frames; the files '
                            'contain what was computed so far', highlight=False, soft_wrap=True)
    if not console.deliver(document, args.json, args.overwrite):
        return
    labelled = sum(summary.points.values())
    rows = [['world' if i == WORLD else f'body {i}', f'{n / max(summary.pairs, 1):.0f}',
             f'{n / max(labelled, 1):.1%}', f'{summary.moving[i] / n:.2f}']
            for i, n in summary.points.most_common(12)]
    console.table(f'{summary.pairs} pairs in {summary.frames} frames, '
                  f'{document["frames_per_second"]:g} frames per second',
                  ['motion', 'points per pair', 'share', 'moving'], rows)
    if source.skipped:
        console.screen.print(f'{source.skipped} frames could not be decoded and were skipped')
    if not summary.pairs:
        console.screen.print(f'no pair of frames was segmented: {summary.last_reason}')
    console.screen.print(f'the files are in {out}' + (f', the page is {args.html}'
                                                      if args.html else ''))
