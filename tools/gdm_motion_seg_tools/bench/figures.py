# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plots of a report: error per pair, ROC, accuracy against time, curves of the sweeps."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gdm_motion_seg.viz.plots import (plot_accuracy_against_time, plot_curves, plot_error_per_pair,
                                      plot_roc, plot_sorted_errors)
from gdm_motion_seg_tools.bench.benchmark import AUTO, GIVEN, Row
from gdm_motion_seg_tools.bench.metrics import ROC_GRID
from gdm_motion_seg_tools.bench.report import Report
from gdm_motion_seg_tools.datasets.synthetic import SWEEPS


def write_figures(report: Report, folder: Path) -> list[Path]:
    """Draw the plots that the rows of a report allow; returns the files."""
    name, rows = report['benchmark'], report['rows']
    written = []
    for mode, said in ((GIVEN, 'K given'), (AUTO, 'K unknown')):
        errors = _errors_per_pair(rows, mode)
        if not errors:
            continue
        end = '' if mode == GIVEN else '_auto'
        title = f'{name}, {said}'
        per_pair, in_order, against_time = (
            folder / f'{name}_{what}{end}.png'
            for what in ('error_per_pair', 'errors_sorted', 'accuracy_time'))
        plot_error_per_pair(per_pair, errors, title)
        plot_sorted_errors(in_order, errors, title)
        plot_accuracy_against_time(against_time, _time_and_error(report, end), title)
        written += [per_pair, in_order, against_time]
    curves = _roc_curves(rows)
    if curves:
        written.append(folder / f'{name}_roc.png')
        points = {m: (s['fpr'], s['tpr']) for m, s in report['summary'].items() if 'tpr' in s}
        plot_roc(written[-1], curves, points, f'{name}, outliers, K given')
    if name == 'synthetic':
        written += _sweep_figures(report, folder)
    return written


def _errors_per_pair(rows: Sequence[Row], mode: str) -> dict[str, list[float]]:
    """Return the medians over the seeds of each method, in the same order of pairs."""
    values: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row['mode'] == mode and np.isfinite(row['error']):
            values.setdefault(row['method'], {}).setdefault(row['pair'], []).append(row['error'])
    pairs = list(dict.fromkeys(row['pair'] for row in rows if row['mode'] == mode))
    return {method: [float(np.median(by_pair[p])) if p in by_pair else float('nan') for p in pairs]
            for method, by_pair in values.items()}


def _time_and_error(report: Report, end: str) -> dict[str, tuple[float, float]]:
    points = {}
    for method, numbers in report['summary'].items():
        if f'error{end}' in numbers and f'seconds{end}' in numbers:
            points[method] = (numbers[f'seconds{end}'], numbers[f'error{end}'])
    return points


def _roc_curves(rows: Sequence[Row]) -> dict[str, tuple[list[float], list[float]]]:
    """Average the curves of all pairs and seeds."""
    curves: dict[str, list[list[float]]] = {}
    for row in rows:
        if row['mode'] == GIVEN and row.get('roc'):
            curves.setdefault(row['method'], []).append(row['roc'])
    return {method: (list(ROC_GRID), np.mean(found, axis=0).tolist())
            for method, found in curves.items()}


def _sweep_figures(report: Report, folder: Path) -> list[Path]:
    written = []
    labels = {'motions': 'number of motions', 'ratio': 'largest motion over smallest',
              'outliers': 'outliers (%)', 'degenerate': 'degenerate motions',
              'small': 'points of the small body'}
    for sweep, steps in SWEEPS.items():
        for key, said in (('error', 'misclassified points (%), K given'),
                          ('error_auto', 'misclassified points (%), K unknown'),
                          ('k_right', 'share of scenes with K right')):
            curves = {method: [numbers.get(f'{key}_{sweep}_{step}', np.nan) for step in steps]
                      for method, numbers in report['summary'].items()}
            curves = {m: values for m, values in curves.items() if np.isfinite(values).any()}
            if curves:
                written.append(folder / f'synthetic_{key}_{sweep}.png')
                plot_curves(written[-1], list(steps), curves, 'synthetic', labels[sweep], said)
    return written
