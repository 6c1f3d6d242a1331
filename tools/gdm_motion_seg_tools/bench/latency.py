# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Time of the stages of a frame, in comparison with the tracker, other methods and a time limit.

Everything is measured in one run on one thread, on a rendered stream with ground truth. Tracking,
segmentation and other methods alternate frame by frame, so that the load of the machine is the
same for all of them.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
import time
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from rich.table import Table

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.markers import markers_array
from gdm_motion_seg.msgs.results import keypoints_cloud, motions_cloud
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.segment import segment_correspondences
from gdm_motion_seg.segmentation.stream import StreamSegmenter
from gdm_motion_seg.settings import with_flat
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg.tracking.window import TrackedFrame
from gdm_motion_seg.viz.overlay import draw_overlay
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.bench.reference_tracker import ReferenceTracker
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.datasets.pair import LabelledPair
from gdm_motion_seg_tools.synth.render import (
    border_mask, render_scene, RenderedFrame, Renderer)
from gdm_motion_seg_tools.synth.scenes import crowd, Scene

SCENE = 'two_movers'
"""Three motions: the room, a box and a cylinder."""
FRAMES = 215
"""Frames of the stream; the first ones have no pair yet."""
GROWTH_FRAMES = 24
"""Frames of the streams that are used only to measure how the time grows."""
WARM_UP_FRAMES = 9
"""Number of first frames that are not measured."""
BUDGET_MS = 33.0
STAGES = ('convert', 'track', 'segment', 'draw', 'publish')
SEEN, SHOWN = STAGES[:3], STAGES[3:]
"""The stages up to the result, and those of the output."""
PEERS = ('magsac', 'poselib')
COLD_EVERY = 2
"""Every n-th pair is also solved as a single pair, by this package and by other methods."""
FEW_MOTIONS, MANY_MOTIONS = 2, 6
"""The static world and one body, or five."""
QUANTILES = (50, 95, 99)
SURE_PX = 3
"""Points nearer than this to the outline of another body are not scored."""

Seconds = dict[str, list[float]]


@dataclass
class Timings:
    """Measurements of one stream."""

    seconds: Seconds = field(default_factory=dict)
    """Times of each stage and of each method, one value per pair."""
    errors: Seconds = field(default_factory=dict)
    """Share of wrong points in percent, one value per pair."""
    tracks: list[int] = field(default_factory=list)
    motions: list[int] = field(default_factory=list)

    def add(self, kind: Seconds, values: dict[str, float]) -> None:
        """Append one value to each series."""
        for name, value in values.items():
            kind.setdefault(name, []).append(value)

    def median_ms(self, *names: str) -> float:
        """Return the median over the pairs of the sum of some series."""
        return 1e3 * float(np.median(np.sum([self.seconds[name] for name in names], axis=0)))


def run(args: argparse.Namespace) -> Report:
    """Measure, print the stages, write the plots; --every shortens the stream."""
    console = Console()
    frames = max(4 * WARM_UP_FRAMES, FRAMES // args.every)
    report = measure(frames, GROWTH_FRAMES, console)
    print_stages(report['rows'], console)
    folder = getattr(args, 'plots', None) or (args.json.parent if args.json else None)
    if folder is not None:
        plot_stages(report['rows'], Path(folder) / 'latency_stages.png')
    return report


def measure(n_frames: int, n_growth: int, console: Console | None = None,
            size: tuple[int, int] = (640, 480),
            large: tuple[int, int] = (1920, 1080)) -> Report:
    """Run all streams and return the figures."""
    limit_threads(1)
    stream = list(_progress(render_scene(SCENE, n_frames, size), n_frames, 'render', console))
    config = PipelineConfig()
    time_stream(stream[:2 * WARM_UP_FRAMES], config, compare=True)
    main = time_stream(_progress(stream, n_frames, 'measure', console), config, compare=True)
    alone, crowded = (time_stream(_progress(
        rendered(crowd(count - 1), n_growth, size), n_growth, f'{count} motions', console), config)
        for count in (FEW_MOTIONS, MANY_MOTIONS))
    few, many = (time_stream(_progress(stream[:n_growth], n_growth, f'{count} tracks', console),
                             _with_tracks(config, count)) for count in (500, 2000))
    huge = time_stream(_progress(render_scene(SCENE, n_growth, large), n_growth,
                                 f'{large[0]} x {large[1]}', console), config)
    budgeted = with_flat(config, {'segmentation.time_budget_ms': BUDGET_MS})
    hurried = time_stream(_progress(stream, n_frames, 'budget', console), budgeted)
    t500 = main.median_ms('t500')
    whole = np.sum([main.seconds[stage] for stage in STAGES], axis=0)
    summary = {
        'frame_over_t500': main.median_ms(*SEEN) / t500,
        'frame_all_over_t500': main.median_ms(*STAGES) / t500,
        'frame_all_p95_over_t500': 1e3 * float(np.percentile(whole, 95)) / t500,
        'outputs_over_t500': main.median_ms(*SHOWN) / t500,
        'cold_over_magsac': main.median_ms('cold') / main.median_ms('magsac'),
        'segment_over_track': main.median_ms('segment') / main.median_ms('track'),
        **{f'over_sequential_{peer}': main.median_ms('segment') / main.median_ms(peer)
           for peer in PEERS},
        'stream_error': _mean(main.errors['stream']),
        'cold_error': _mean(main.errors['cold']),
        **{f'{peer}_error': _mean(main.errors[peer]) for peer in PEERS},
        'budget_overshoot_p99': _overshoot(hurried.seconds['segment']),
        'budget_overshoot_p99_cold': _overshoot(main.seconds['cold_budget']),
        'budget_error_cold': _mean(main.errors['cold_budget']),
        'first_over_magsac': main.median_ms('first') / main.median_ms('magsac'),
        'first_error': _mean(main.errors['first']),
        'growth_motions': crowded.median_ms('segment') / alone.median_ms('segment'),
        'motions_few': float(np.median(alone.motions)),
        'motions_many': float(np.median(crowded.motions)),
        'growth_points': many.median_ms('segment') / few.median_ms('segment'),
        'growth_pixels': huge.median_ms(*STAGES) / main.median_ms(*STAGES),
        'tracks': float(np.median(main.tracks)), 'tracks_many': float(np.median(many.tracks)),
        'frames': float(n_frames),
        **{f'{name}_ms': main.median_ms(name)
           for name in (*STAGES, *PEERS, 'cold', 'cold_budget', 'first', 't500')},
    }
    return make_report('latency', {'gdm': summary}, stage_rows(main.seconds))


def time_stream(frames: Iterable[RenderedFrame], config: PipelineConfig,
                compare: bool = False) -> Timings:
    """Run frames through a pipeline, time every stage and other methods on the same pairs."""
    pipeline, reference, timings = MotionPipeline(config), ReferenceTracker(), Timings()
    past: list[RenderedFrame] = []
    for frame in frames:
        past.append(frame)
        grey = cv2.cvtColor(frame.image, cv2.COLOR_BGR2GRAY)
        start = time.perf_counter()
        reference.track(np.asarray(grey, np.uint8))
        t500 = time.perf_counter() - start
        tracked = pipeline.track(frame.image, frame.stamp)
        result = pipeline.segment(tracked)
        shown = time_output(frame, result)
        # The first result of a stream has no previous frame and counts as a cold one.
        if not result.has_pair or frame.index <= result.gap:
            continue
        timings.add(timings.seconds, result.seconds | shown | {'t500': t500})
        timings.tracks.append(len(result.correspondences))
        timings.motions.append(len(result.motions))
        if compare:
            truth = true_labels(past[-1 - result.gap], frame, result.correspondences)
            sure = truth >= 0
            timings.add(timings.errors, {
                'stream': error_percent(result.labels[sure], truth[sure])})
            if frame.index % COLD_EVERY == 0:
                _compare(timings, tracked, truth)
    return timings


def rendered(scene: Scene, count: int, size: tuple[int, int]) -> Iterable[RenderedFrame]:
    """Render the frames of a scene."""
    renderer = Renderer(scene, size)
    return (renderer.frame(index) for index in range(count))


def time_output(frame: RenderedFrame, result: FrameResult) -> dict[str, float]:
    """Time the overlay and the messages, with all outputs subscribed."""
    start = time.perf_counter()
    draw_overlay(frame.image, result)
    drawn = time.perf_counter()
    types, points = rosbags_types(), result.correspondences
    camera = Camera.guess(points.image_size)
    header = header_of(types, result.stamp, 'camera')
    rays = camera.rays(points.x2)
    keypoints_cloud(types, header, result, rays)
    motions_cloud(types, header, result)
    markers_array(types, header, result, rays, camera.rays(points.x1))
    return {'draw': drawn - start, 'publish': time.perf_counter() - drawn}


def true_labels(older: RenderedFrame, newer: RenderedFrame, points: Correspondences) -> IntArray:
    """Return the true label of each track, -1 near outlines."""
    body = _at(newer.labels, points.x2).astype(np.int64)
    sure = (_at(older.labels, points.x1) == body) & ~_at(
        border_mask(older.labels, SURE_PX), points.x1) & ~_at(
        border_mask(newer.labels, SURE_PX), points.x2)
    return np.where(sure, body, -1)


def stage_rows(seconds: Seconds) -> list[Row]:
    """Return the quantiles of every stage and method in milliseconds."""
    rows: list[Row] = []
    total = np.sum([seconds[stage] for stage in STAGES], axis=0)
    for name, values in {**seconds, 'total': total}.items():
        quantiles = np.percentile(values, QUANTILES) * 1e3
        rows.append({'stage': name, 'frames': len(values),
                     **{f'p{q}_ms': float(v) for q, v in zip(QUANTILES, quantiles)}})
    return rows


def print_stages(rows: Sequence[Row], console: Console) -> None:
    """Print the time of each stage as a table."""
    table = Table(title='time of a frame, ms')
    table.add_column('stage')
    for q in QUANTILES:
        table.add_column(f'p{q}', justify='right')
    by_name = {row['stage']: row for row in rows}
    for name in (*STAGES, 'total'):
        table.add_row(name, *(f'{by_name[name][f"p{q}_ms"]:.2f}' for q in QUANTILES),
                      end_section=name == STAGES[-1])
    console.print(table)


def plot_stages(rows: Sequence[Row], path: Path) -> None:
    """Draw the median of each stage as a bar with p95 and p99 marked on it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "plots need matplotlib: pip install 'gdm_motion_seg[bench]'") from None
    by_name = {row['stage']: row for row in rows}
    figure = Figure(figsize=(6.4, 3.2), layout='constrained')
    axes = figure.add_subplot(title='time of a frame', xlabel='ms')
    names = STAGES[::-1]
    axes.barh(names, [by_name[n]['p50_ms'] for n in names], color='#56b4e9', label='p50')
    for q, mark in ((95, '|'), (99, 'x')):
        axes.plot([by_name[n][f'p{q}_ms'] for n in names], names, mark, color='black',
                  label=f'p{q}')
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _compare(timings: Timings, tracked: TrackedFrame, truth: IntArray) -> None:
    """
    Solve the pair of a frame as a single pair: as the command ``segment``, and by other methods.

    ``first`` is the first result of a stream, without a previous frame.
    """
    sure, points = truth >= 0, tracked.window.pair
    window = replace(tracked.window, before=tracked.window.before[:1],
                     seconds=tracked.window.seconds[:1])
    pair = LabelledPair('', points.x1, points.x2, points.image_size, truth)
    camera = Camera.guess(points.image_size)
    solvers: dict[str, Callable[[], Any]] = {
        'cold': lambda: segment_correspondences(points, rng=0),
        'cold_budget': lambda: segment_correspondences(
            points, SegmentationConfig(time_budget_ms=BUDGET_MS), rng=0),
        'first': lambda: StreamSegmenter().segment(window, tracked.stamp, camera),
        **{peer: partial(METHODS[peer].segment, pair, 0, np.random.default_rng(0))
           for peer in PEERS}}
    for name, solve in solvers.items():
        start = time.perf_counter()
        labels = solve().labels
        timings.add(timings.seconds, {name: time.perf_counter() - start})
        timings.add(timings.errors, {name: error_percent(labels[sure], truth[sure])})


def _with_tracks(config: PipelineConfig, count: int) -> PipelineConfig:
    """Return the settings with another number of tracks, at a smaller distance."""
    distance = config.tracking.min_distance * (config.tracking.max_tracks / count) ** 0.5
    return with_flat(config, {'tracking.max_tracks': count, 'tracking.min_distance': distance})


def _at(image: npt.NDArray[Any], points: FloatArray) -> npt.NDArray[Any]:
    """Return the values of an image at pixels."""
    x, y = np.rint(points).astype(np.int64).T
    height, width = image.shape
    return np.asarray(image[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)])


def _overshoot(seconds: Sequence[float]) -> float:
    return 1e3 / BUDGET_MS * float(np.percentile(seconds, 99))


def _mean(values: Sequence[float]) -> float:
    return float(np.nanmean(values))


def _progress(frames: Iterable[RenderedFrame], count: int, what: str,
              console: Console | None) -> Iterable[RenderedFrame]:
    if console is None or not console.is_terminal:
        return frames
    return track(frames, what, total=count, console=console, transient=True)
