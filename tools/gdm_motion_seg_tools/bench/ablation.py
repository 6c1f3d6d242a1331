# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What each term of the energy is worth: one is switched off at a time, on the data sets.

The solver runs alone, without the geometry of the motions, on random pairs of every data set that
the folder of --data holds. The other terms keep their weights, so a figure tells what is lost when
a term is left out, not what a model without it could reach with weights of its own.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import time
import zlib

import numpy as np
from rich.progress import track

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.problem import pose_problem
from gdm_motion_seg.segmentation.solver import Solver
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg_tools.bench.benchmark import AUTO, GIVEN, Row
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.bench.registry import BENCHMARKS
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.datasets.pair import LabelledPair

DATA_SETS = ('hopkins155', 'adelaide', 'kt3dmoseg')
PAIRS = 25
"""Random pairs of a data set; all of them where it has fewer."""
W = Weights()
VARIANTS = {
    'all terms': W,
    'no dimension': W._replace(dimension=0.0),
    'dimension without null': W._replace(null=0.0, dimension=(1.0 - W.null) * W.dimension),
    'no smoothness': W._replace(smoothness=0.0),
    'no price of bodies': W._replace(body=0.0, motion=W.motion + W.body),
    'no heavy tail': W._replace(tail=1e6),
    'no loose rounds': W._replace(loose=1.0),
    'no price': W._replace(motion=0.0, body=0.0),
}
"""What is left out, and the weights without it."""


def run(args: argparse.Namespace) -> Report:
    """Run every variant on the pairs; --every leaves pairs out."""
    if args.data is None:
        raise InputError('ablation needs --data DIR, a folder that holds data sets')
    limit_threads(1)
    pairs = chosen_pairs(args.data, args.every)
    if not pairs:
        raise InputError(f'{args.data} holds none of {", ".join(DATA_SETS)}')
    tasks = [(name, weights, data_set, pair) for name, weights in VARIANTS.items()
             for data_set, pair in pairs]
    rows = [row for name, weights, data_set, pair in track(tasks, 'ablation')
            for row in measure(name, weights, data_set, pair)]
    return make_report('ablation', {name: summarise(
        [row for row in rows if row['method'] == name]) for name in VARIANTS}, rows)


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
    """Return the mean error of each data set, K given and unknown, and how often K is right."""
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
