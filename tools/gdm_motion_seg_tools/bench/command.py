# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``bench``."""

import argparse
import importlib
import importlib.util
import math
import os
from pathlib import Path

import numpy as np
from rich.console import Console

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.bench.benchmark import AUTO, Benchmark, Row
from gdm_motion_seg_tools.bench.methods.base import Method
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.registry import BENCHMARKS
from gdm_motion_seg_tools.bench.report import (
    check_writable, make_report, print_table, Report, write_csv, write_json)
from gdm_motion_seg_tools.datasets.pair import LabelledPair, unique_names

MEASUREMENTS = ('footage', 'davis', 'sfm', 'ablation', 'batch', 'engine', 'latency', 'node',
                'paper', 'soak', 'startup')
"""Benchmarks of the running system; each is a module here with ``run(args) -> Report``."""
OWN = 'gdm'
"""The method of this package."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``bench`` to a parser."""
    parser.add_argument('name', choices=(*BENCHMARKS, *MEASUREMENTS), metavar='NAME',
                        help=f'what to measure: {", ".join((*BENCHMARKS, *MEASUREMENTS))}')
    parser.add_argument('--data', type=Path, metavar='DIR',
                        help='folder of the data set, or of several data sets')
    parser.add_argument('--json', type=Path, metavar='FILE',
                        help='write the report (- prints it); finished rows are stored beside it, '
                        'and the same command continues from them')
    parser.add_argument('--csv', type=Path, metavar='FILE', help='write the rows as a table')
    parser.add_argument('--page', type=Path, metavar='FILE',
                        help='paper: write the page with the tables, and its plot next to it')
    parser.add_argument('--plots', type=Path, metavar='DIR', help='draw plots into a folder')
    parser.add_argument('--seeds', type=_positive, default=5, metavar='N',
                        help='runs of each pair, of which the median counts (default: 5)')
    parser.add_argument('--first-seed', type=int, default=0, metavar='N',
                        help='first seed of the textures of sfm (default: 0)')
    parser.add_argument('--jobs', type=_positive, default=cores(), metavar='N',
                        help='worker processes (default: one per core)')
    parser.add_argument('--methods', default='', metavar='A,B',
                        help=f'methods to compare, or all: {", ".join(METHODS)} (default: all but '
                        'the slow ones)')
    parser.add_argument('--pairs', default='', metavar='TEXT',
                        help='only the pairs whose name contains TEXT')
    parser.add_argument('--every', type=_positive, default=1, metavar='N',
                        help='only every N-th pair, for a quick look')
    parser.add_argument('--fresh', action='store_true',
                        help='do not continue from the rows of an earlier run')
    parser.add_argument('--rendered', action='store_true',
                        help='footage: rendered scenes instead of a data set')
    parser.add_argument('--encodings', type=Path, metavar='CLIP',
                        help='footage: one video or folder of images, encoded in five ways')
    parser.add_argument('--minutes', type=_minutes, default=10.0, metavar='M',
                        help='how long soak lasts (default: 10)')


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the files; returns the exit code."""
    for path in (args.json, args.csv, args.page):
        if path:
            check_writable(path)
    if args.name in MEASUREMENTS:
        module = importlib.import_module(f'gdm_motion_seg_tools.bench.{args.name}')
        report: Report = module.run(args)
    else:
        report = run_benchmark(args)
    if args.json:
        write_json(report, args.json)
    if args.csv:
        write_csv(report, args.csv)
    if args.plots and args.name in BENCHMARKS:
        from gdm_motion_seg_tools.bench.figures import write_figures
        write_figures(report, args.plots)
    if str(args.json) != '-':
        show(report)
    return 0


def show(report: Report) -> None:
    """Print the table of a report, and the failures."""
    name = report['benchmark']
    if name not in BENCHMARKS:
        print_table(report)
        return
    ranked = [m for m in report['summary'] if m in METHODS and not METHODS[m].uses_truth]
    print_table(report, headline=BENCHMARKS[name].headline, ranked=ranked,
                notes={m.name: m.note for m in METHODS.values()})
    failed = [row for row in report['rows'] if row.get('failure')]
    if failed:
        first = failed[0]
        Console(stderr=True).print(
            f'{len(failed)} of {len(report["rows"])} runs failed and count as all outliers; the '
            f'first: {first["method"]} on {first["pair"]}: {first["failure"]}', markup=False)


def run_benchmark(args: argparse.Namespace) -> Report:
    """Run methods on the pairs of a data set."""
    from gdm_motion_seg_tools.bench.runner import plan, run_tasks
    benchmark, methods = BENCHMARKS[args.name], chosen_methods(args.methods)
    pairs = chosen_pairs(benchmark, args.data, args.pairs)[::args.every]
    cache = None
    if args.json and str(args.json) != '-':
        cache = args.json.with_suffix('.rows.jsonl')
        if args.fresh:
            cache.unlink(missing_ok=True)
    rows = run_tasks(plan(args.name, methods, pairs, args.seeds), args.jobs, cache)
    summary = summary_of(benchmark, methods, rows)
    if benchmark.product is not None and OWN in methods and not args.pairs and args.every == 1:
        figures, more = benchmark.product()
        summary[OWN] |= figures
        rows = [*rows, *more]
    return make_report(args.name, summary, rows)


def summary_of(benchmark: Benchmark, methods: list[str], rows: list[Row],
               ) -> dict[str, dict[str, float]]:
    """Return the summary of each method, with its number of failures if there are any."""
    summary = {}
    for name in methods:
        own = [row for row in rows if row['method'] == name]
        failures = sum(bool(row['failure']) for row in own)
        summary[name] = dict(benchmark.summarise(own))
        summary[name] |= over_magsac(own, rows)
        if failures:
            summary[name]['failures'] = float(failures)
    return summary


def over_magsac(own: list[Row], rows: list[Row]) -> dict[str, float]:
    """Return the time with K unknown over that of sequential MAGSAC++ on the same pairs."""
    peer = {(row['pair'], row['seed']): row['seconds'] for row in rows
            if row['method'] == 'magsac' and row['mode'] == AUTO}
    ratios = [row['seconds'] / peer[row['pair'], row['seed']] for row in own
              if row['mode'] == AUTO and (row['pair'], row['seed']) in peer]
    return {'auto_over_magsac': float(np.median(ratios))} if ratios else {}


def chosen_methods(text: str) -> list[str]:
    """Return the methods of a comma-separated list; all that are not slow if it is empty."""
    if text == 'all':
        return [name for name, method in METHODS.items() if is_installed(method)]
    if not text:
        return [name for name, method in METHODS.items() if method.default]
    names = [name.strip() for name in text.split(',') if name.strip()]
    for name in names:
        if name not in METHODS:
            raise InputError(f'there is no method {name!r}; there are {", ".join(METHODS)}')
    return list(dict.fromkeys(names))


def is_installed(method: Method) -> bool:
    """Whether the package that a method needs, if any, is installed."""
    return not method.package or importlib.util.find_spec(method.package) is not None


def chosen_pairs(benchmark: Benchmark, folder: Path | None, text: str) -> list[LabelledPair]:
    """Read the pairs of a data set whose name contains a text."""
    if benchmark.needs_data and folder is None:
        raise InputError(f'{benchmark.name} needs --data DIR, the folder of the data set')
    own = _own(benchmark, folder)
    pairs = [pair for pair in unique_names(benchmark.read(own)) if text in pair.name]
    if not pairs:
        raise InputError(f'no pair of {benchmark.name} has {text!r} in its name')
    return pairs


def _own(benchmark: Benchmark, folder: Path | None) -> Path | None:
    """Return the folder of the data set if --data contains several data sets."""
    for name in (benchmark.folder, benchmark.name):
        if folder is not None and name and (folder / name).is_dir():
            return folder / name
    return folder


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0.0 < minutes < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of minutes above 0')
    return minutes


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number of at least 1')
    return int(text)
