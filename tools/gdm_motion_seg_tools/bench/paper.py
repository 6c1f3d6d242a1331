# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The tables and figures of the paper, measured again and compared with the numbers of the paper.

The rows of GDM come first, so that there is a page after some minutes; the rivals follow one by
one, and the page is written again after each. Finished rows are stored next to the JSON (or the
page), and the same command continues from them.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import platform
from typing import Any

import numpy as np
from rich.console import Console

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import empirical_dimension, GdmConfig, minimal_p
from gdm_motion_seg.gdm.starts import agglomerative_partition
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed
from gdm_motion_seg_tools.bench.benchmark import means, Row
from gdm_motion_seg_tools.bench.command import chosen_pairs, cores
from gdm_motion_seg_tools.bench.paper_numbers import (
    MINIMAL_P, MINIMAL_P_DIMENSIONS, RAS_CLEAN, RAS_OUTLIERS)
from gdm_motion_seg_tools.bench.paper_page import page, roc_curves
from gdm_motion_seg_tools.bench.registry import BENCHMARKS
from gdm_motion_seg_tools.bench.report import make_report, Report, write_text
from gdm_motion_seg_tools.bench.runner import plan, run_tasks
from gdm_motion_seg_tools.datasets.pair import LabelledPair

READINGS = ('gdm-paper-literal', 'gdm-paper-growth', 'gdm-paper-axes', 'gdm-paper-pixels',
            'gdm-truth', 'gdm-truth-pixels')
"""Other readings of the paper's start and coordinates."""
VARIANTS = ('gdm-paper', 'gdm-naive', 'gdm-known-fraction', 'gdm-model-reassign')
HOPKINS_RIVALS = ('ref', 'k-means', 'mapa-nonlinear', 'slbf-ms', 'slbf-nonlinear', 'scc-nonlinear',
                  'ras', 'lrr-nonlinear', 'hosc-2', 'hosc-3', 'ssc-nonlinear')
ADELAIDE_RIVALS = ('k-means', 'ras-outliers', 'lrr-outliers', 'hosc-outliers', 'mapa-nonlinear',
                   'slbf-ms', 'ras', 'hosc-2', 'hosc-3', 'scc-nonlinear')
SLOW = ('ssc-nonlinear', 'hosc-3')
"""Rivals that run only if they are named."""
RIVALS = tuple(dict.fromkeys((*HOPKINS_RIVALS, *ADELAIDE_RIVALS)))
CLOUD_POINTS = 20_000
CLOUD_EPSILONS = (0.05, 0.35, 0.7, 1.0)
CLOUD_EXTENTS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.1), (1.0, 0.0), (0.5, 0.0), (0.1, 0.0),
                 (0.0, 0.0))
"""Extents of the second and third axis while the cloud collapses into a plane and into a line."""


@dataclass(frozen=True)
class Stage:
    """Methods that run together on one data set."""

    benchmark: str
    methods: tuple[str, ...]
    seeds: int


def run(args: argparse.Namespace) -> Report:
    """Measure everything; ``args.seeds`` runs of gdm-paper on Hopkins155, one of all others."""
    wanted = _wanted(args.methods)
    pairs = _pairs(args)
    for name in pairs:
        if args.fresh and (cache := _cache(name, args)) is not None:
            cache.unlink(missing_ok=True)
    facts = _facts(pairs['hopkins155'], set(pairs))
    rows: list[Row] = []
    report = make_report('paper', {}, [])
    for stage in _stages(wanted, args.seeds, 'ras' in pairs):
        rows += _run_stage(stage, pairs[stage.benchmark], args)
        report = make_report('paper', _summary(rows), rows)
        report['facts'] = facts
        _write(report, args)
    return report


def _wanted(text: str) -> list[str]:
    """Return the methods to run: all but the slow ones, or those named."""
    known = (*VARIANTS, *READINGS, *RIVALS)
    if not text:
        return [name for name in known if name not in SLOW]
    if text == 'all':
        return list(known)
    names = [name.strip() for name in text.split(',') if name.strip()]
    for name in names:
        if name not in known:
            raise InputError(f'bench paper has no method {name!r}; it has {", ".join(known)}')
    return names


def _pairs(args: argparse.Namespace) -> dict[str, list[LabelledPair]]:
    """Read the data sets below --data; the RAS data only if they are there."""
    if args.data is None:
        raise InputError('paper needs --data DIR, the folder with hopkins155 and '
                         'adelaidermf_f')
    names = ['hopkins155', 'adelaide'] + (['ras'] if (args.data / 'ras').is_dir() else [])
    return {name: chosen_pairs(BENCHMARKS[name], args.data, args.pairs)[::args.every]
            for name in names}


def _stages(wanted: Sequence[str], seeds: int, with_ras: bool) -> list[Stage]:
    """Return the stages: first GDM on every data set, then each rival."""
    def of(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in wanted)
    stages = [Stage('hopkins155', of(('gdm-paper',)), seeds),
              Stage('adelaide', of(VARIANTS), 1), Stage('hopkins155', of(READINGS), 1)]
    if with_ras:
        stages.append(Stage('ras', of(VARIANTS), 1))
    for name in RIVALS:
        for benchmark, rivals in (('hopkins155', HOPKINS_RIVALS), ('adelaide', ADELAIDE_RIVALS),
                                  ('ras', (*RAS_CLEAN, *RAS_OUTLIERS))):
            if name in rivals and (benchmark != 'ras' or with_ras):
                stages.append(Stage(benchmark, of((name,)), 1))
    return [stage for stage in stages if stage.methods]


def _run_stage(stage: Stage, pairs: list[LabelledPair], args: argparse.Namespace) -> list[Row]:
    cache = _cache(stage.benchmark, args)
    Console(stderr=True).print(f'{stage.benchmark}: {", ".join(stage.methods)}', markup=False)
    rows = run_tasks(plan(stage.benchmark, stage.methods, pairs, stage.seeds), args.jobs, cache)
    return [{'benchmark': stage.benchmark, **row} for row in rows]


def _cache(benchmark: str, args: argparse.Namespace) -> Path | None:
    """Return the file of finished rows, next to the JSON or else next to the page."""
    beside: Path | None = args.json if args.json and str(args.json) != '-' else args.page
    return beside.with_suffix(f'.{benchmark}.rows.jsonl') if beside else None


def _facts(pairs: Sequence[LabelledPair], data_sets: set[str]) -> dict[str, Any]:
    """Return facts that need no method: the bound on p, the collapsing cloud, sizes of starts."""
    return {'minimal_p': {str(k): [minimal_p(k, d) for d in MINIMAL_P_DIMENSIONS]
                          for k in MINIMAL_P},
            'cloud': collapsing_cloud(), 'smallest_set': smallest_sets(pairs),
            'data_sets': sorted(data_sets), 'files': len(pairs), 'cores': cores(),
            'python': platform.python_version(), 'numpy': np.__version__}


def collapsing_cloud(n_points: int = CLOUD_POINTS) -> dict[str, list[float]]:
    """Measure the empirical dimension of a Gaussian cloud that collapses (the paper's figure)."""
    cloud = np.random.default_rng(0).normal(size=(n_points, 3))
    return {f'{epsilon:g}': [empirical_dimension(cloud * [1.0, *extents], epsilon)
                             for extents in CLOUD_EXTENTS] for epsilon in CLOUD_EPSILONS}


def smallest_sets(pairs: Sequence[LabelledPair]) -> dict[str, dict[str, float]]:
    """Return the mean share of the points in the smallest set of a start, by rule and by K."""
    shares: dict[str, dict[str, list[float]]] = {}
    for number, pair in enumerate(pairs):
        vectors = embed(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))
        for search in ('paper', 'paper-literal'):
            start = agglomerative_partition(vectors, pair.n_motions, GdmConfig(search=search),
                                            np.random.default_rng(number))
            shares.setdefault(search, {}).setdefault(str(pair.n_motions), []).append(
                float(np.bincount(start).min()) / len(pair))
    return {search: {k: float(np.mean(values)) for k, values in by_k.items()}
            for search, by_k in shares.items()}


def _summary(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Summarise each method: errors on Hopkins155, rates on AdelaideRMF, seconds of all runs."""
    summary: dict[str, dict[str, float]] = {}
    for method in dict.fromkeys(row['method'] for row in rows):
        own = [row for row in rows if row['method'] == method]
        hopkins = [row for row in own if row['benchmark'] == 'hopkins155']
        adelaide = [row for row in own if row['benchmark'] == 'adelaide']
        found: dict[str, float] = {}
        for k in (2, 3):
            errors = [row['error'] for row in hopkins if row['k_true'] == k]
            if errors:
                found[f'error_{k}'] = float(np.mean(errors))
                found |= means([row for row in hopkins if row['k_true'] == k],
                               {f'reached_truth_{k}': 'reached_truth'})
        found |= means(hopkins, {'seconds': 'seconds'})
        found |= means(adelaide, {'adelaide_error': 'error',
                                  'adelaide_inlier_error': 'inlier_error', 'tpr': 'tpr',
                                  'fpr': 'fpr'})
        found['total_seconds'] = float(sum(row['seconds'] for row in own))
        summary[method] = found
    return summary


def _write(report: Report, args: argparse.Namespace) -> None:
    """Write the page and the plot of the ROC curves, if there are any."""
    if not args.page:
        return
    picture = ''
    curves = roc_curves(report['rows'])
    if curves:
        from gdm_motion_seg.viz.plots import plot_roc
        picture = 'images/paper_roc.png'
        points = {name: (s['fpr'], s['tpr']) for name, s in report['summary'].items()
                  if 'tpr' in s}
        plot_roc(args.page.parent / picture, curves, points, 'AdelaideRMF, outliers, K given')
    write_text(page(report, picture), args.page)
