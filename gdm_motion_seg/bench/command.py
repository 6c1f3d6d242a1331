# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``bench``: its flags, and what it does with them."""

import argparse
import importlib
import os
from pathlib import Path

from rich.console import Console

from gdm_motion_seg.bench.methods.registry import METHODS
from gdm_motion_seg.bench.registry import BENCHMARKS
from gdm_motion_seg.bench.report import make_report, print_table, Report, write_csv, write_json
from gdm_motion_seg.bench.runner import plan, run_tasks
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.datasets.pair import unique_names

MEASUREMENTS = ('engine', 'latency', 'node', 'soak')
"""Benchmarks of the running system; each is a module with ``run(args) -> Report``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``bench`` to a parser."""
    parser.add_argument('name', choices=(*BENCHMARKS, *MEASUREMENTS), help='what to measure')
    parser.add_argument('--data', type=Path, metavar='DIR', help='folder that holds the data set')
    parser.add_argument('--json', type=Path, metavar='FILE',
                        help='write the report; finished rows are kept beside it to go on from')
    parser.add_argument('--csv', type=Path, metavar='FILE', help='write the rows as a table')
    parser.add_argument('--seeds', type=_positive, default=5, metavar='N',
                        help='runs of each pair; the median counts (default: 5)')
    parser.add_argument('--jobs', type=_positive, default=os.cpu_count() or 1, metavar='N',
                        help='worker processes (default: one a core)')
    parser.add_argument('--methods', default='', metavar='A,B',
                        help=f'methods to compare: {", ".join(METHODS)} (default: all but slow ones)')
    parser.add_argument('--pairs', default='', metavar='TEXT',
                        help='only the pairs whose name contains TEXT')
    parser.add_argument('--every', type=_positive, default=1, metavar='N',
                        help='only every N-th pair, for a quick look')
    parser.add_argument('--minutes', type=float, default=10.0, metavar='M',
                        help='how long the soak test lasts (default: 10)')


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the files; returns the exit code."""
    console = Console()
    if args.name in MEASUREMENTS:
        module = importlib.import_module(f'gdm_motion_seg.bench.{args.name}')
        report: Report = module.run(args)
    else:
        report = run_benchmark(args)
    print_table(report, console, {name: method.note for name, method in METHODS.items()})
    if args.json:
        write_json(report, args.json)
    if args.csv:
        write_csv(report, args.csv)
    return 0


def run_benchmark(args: argparse.Namespace) -> Report:
    """Run methods on the pairs of a data set."""
    benchmark = BENCHMARKS[args.name]
    methods = chosen_methods(args.methods)
    if benchmark.needs_data and args.data is None:
        raise InputError(f'{args.name} needs --data DIR, the folder that holds the data set')
    pairs = unique_names(benchmark.read(args.data))
    pairs = [pair for pair in pairs if args.pairs in pair.name][::args.every]
    if not pairs:
        raise InputError(f'no pair of {args.name} has {args.pairs!r} in its name')
    cache = args.json.with_suffix('.rows.jsonl') if args.json else None
    rows = run_tasks(plan(args.name, methods, pairs, args.seeds), args.jobs, cache)
    summary = {name: benchmark.summarise([row for row in rows if row['method'] == name])
               for name in methods}
    return make_report(args.name, summary, rows)


def chosen_methods(text: str) -> list[str]:
    """Return the methods named in a list with commas; all that are not slow if it is empty."""
    if not text:
        return [name for name, method in METHODS.items() if method.default]
    names = [name.strip() for name in text.split(',') if name.strip()]
    for name in names:
        if name not in METHODS:
            raise InputError(f'there is no method {name!r}; there are {", ".join(METHODS)}')
    return list(dict.fromkeys(names))


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number from 1')
    return int(text)
