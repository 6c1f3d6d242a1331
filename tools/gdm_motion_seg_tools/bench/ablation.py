# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Ablation: one mechanism is switched off at a time, on the data sets and on footage.

On data sets the pair solver runs alone, without the geometry of the motions, on random pairs. On
footage every clip is tracked once, and its windows are segmented again for every variant. All
other constants are unchanged, so a figure is the loss without a mechanism, not what a model
without it could reach with other constants.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
import time
from types import ModuleType
from unittest.mock import patch
import zlib

import numpy as np
from rich.progress import track

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry import focal, static_world
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.segmentation import constants, world
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.problem import pose_problem
from gdm_motion_seg.segmentation.solver import Solver
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg.tracking.window import TrackedFrame
from gdm_motion_seg_tools.bench.benchmark import AUTO, GIVEN, Row
from gdm_motion_seg_tools.bench.footage import add_frame, Counts, of_pipeline, summary_of
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.bench.registry import BENCHMARKS
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.datasets.footage import Clip, read_footage
from gdm_motion_seg_tools.datasets.pair import LabelledPair

DATA_SETS = ('hopkins155', 'adelaide', 'kt3dmoseg')
PAIRS = 25
"""Number of random pairs of a data set; all pairs if it has fewer."""
W = Weights()
VARIANTS = {
    'all terms': W,
    'no dimension': W._replace(dimension=0.0),
    'dimension without null': W._replace(null=0.0, dimension=(1.0 - W.null) * W.dimension),
    'no smoothness': W._replace(smoothness=0.0),
    'noise as assumed': W._replace(most_noise=1.0),
    'no price of size': W._replace(size=0.0),
    'no loose rounds': W._replace(loose=1.0),
    'no price': W._replace(motion=0.0, size=0.0),
}
"""Variants of the energy of a pair, with their weights."""
STREAM_VARIANTS: dict[str, list[tuple[ModuleType, str, float]]] = {
    'stream': [],
    'stream, no dimension': [(constants, 'DIMENSION', 0.0)],
    'stream, no smoothness': [(constants, 'SMOOTHNESS', 0.0)],
    'stream, no staying': [(constants, 'STAY', 0.0)],
    'stream, no price': [(constants, 'PRICE', 0.0)],
    'stream, no memory': [(constants, 'MEMORY_S', 1e-6)],
    'stream, smooth world only': [(world, 'DEPTH_GAIN', 1e9)],
    'stream, rigid world only': [(world, 'DEPTH_GAIN', 1e-9)],
    'stream, any parallax': [(static_world, 'BEHIND_PX', 1e9)],
    'stream, no relief': [(world, 'RELIEF', 0.0)],
    'stream, all refine the pose': [(world, 'SUSPICIOUS', 1e3)],
    'stream, large bodies vote': [(constants, 'LARGE', 2.0)],
    'stream, weak bodies do not vote': [(constants, 'LARGE', 0.0)],
    'stream, near ground is guilty': [(world, 'NEAR_GROUND', 2.0)],
    'stream, focal length as guessed': [(focal, 'EVIDENCE', 1e9)],
}
"""Variants of the stream, with their constants."""


def run(args: argparse.Namespace) -> Report:
    """Run every variant on the pairs; --every selects pairs."""
    if args.data is None:
        raise InputError('ablation needs --data DIR, a folder that contains data sets')
    limit_threads(1)
    pairs = chosen_pairs(args.data, args.every)
    clips = read_footage(args.data)[::args.every]
    if not pairs and not clips:
        raise InputError(f'{args.data} contains neither footage nor any of {", ".join(DATA_SETS)}')
    tasks = [(name, weights, data_set, pair) for name, weights in VARIANTS.items()
             for data_set, pair in pairs]
    rows = [row for name, weights, data_set, pair in track(tasks, 'pairs')
            for row in measure(name, weights, data_set, pair)]
    summary = {name: summarise([row for row in rows if row['method'] == name])
               for name in VARIANTS}
    measured = [(clip, segment_clip(clip)) for clip in track(clips, 'footage')]
    if measured:
        summary |= summary_of(measured, list(STREAM_VARIANTS))
    return make_report('ablation', summary, rows)


def segment_clip(clip: Clip) -> dict[str, Counts]:
    """Track a clip once, and segment it with every variant of the stream."""
    tracker = MotionPipeline(NodeConfig())
    tracked = [(frame.index, tracker.track(frame.image, frame.stamp)) for frame in clip]
    return {name: count_clip(clip, tracked, changes)
            for name, changes in STREAM_VARIANTS.items()}


def count_clip(clip: Clip, tracked: Sequence[tuple[int, TrackedFrame]],
               changes: Sequence[tuple[ModuleType, str, float]]) -> Counts:
    """Segment the windows of a clip with changed constants and compare with the ground truth."""
    counts, pipeline = Counts(), MotionPipeline(NodeConfig())
    with ExitStack() as stack:
        for module, name, value in changes:
            stack.enter_context(patch.object(module, name, value))
        for index, frame in tracked:
            result = pipeline.segment(frame)
            if result.has_pair:
                add_frame(counts, clip, index, result, of_pipeline(result))
    return counts


def chosen_pairs(folder: Path, every: int) -> list[tuple[str, LabelledPair]]:
    """Draw random pairs of each data set in a folder, the same in every run."""
    chosen = []
    for name in DATA_SETS:
        benchmark = BENCHMARKS[name]
        own = folder / (benchmark.folder or name)
        if own.is_dir():
            pairs = list(benchmark.read(own))
            order = np.random.default_rng(0).permutation(len(pairs))[:PAIRS:every]
            chosen += [(name, pairs[i]) for i in sorted(order)]
    return chosen


def measure(name: str, weights: Weights, data_set: str, pair: LabelledPair) -> list[Row]:
    """Partition one pair with K given and with K unknown."""
    rows: list[Row] = []
    for mode in (GIVEN, AUTO):
        rng = np.random.default_rng(zlib.crc32(pair.name.encode()))
        start = time.thread_time()
        problem = pose_problem(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))
        found = Solver(problem, weights, rng, pair.n_motions if mode == GIVEN else 0).partition()
        rows.append({'method': name, 'data_set': data_set, 'pair': pair.name, 'mode': mode,
                     'error': error_percent(found.labels, pair.truth),
                     'k_right': float(found.n_motions == pair.n_motions),
                     'seconds': time.thread_time() - start})
    return rows


def summarise(rows: Sequence[Row]) -> dict[str, float]:
    """Return the mean error of each data set, K given and unknown, and the share with K right."""
    summary: dict[str, float] = {}
    for data_set in DATA_SETS:
        own = [row for row in rows if row['data_set'] == data_set]
        if own:
            given, auto = ([row for row in own if row['mode'] == mode] for mode in (GIVEN, AUTO))
            summary |= {f'{data_set}_error': float(np.mean([r['error'] for r in given])),
                        f'{data_set}_error_auto': float(np.mean([r['error'] for r in auto])),
                        f'{data_set}_k_right': float(np.mean([r['k_right'] for r in auto])),
                        f'{data_set}_ms': 1e3 * float(np.median([r['seconds'] for r in auto]))}
    return summary
