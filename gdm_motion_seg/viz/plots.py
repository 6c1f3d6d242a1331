# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plots of measurements as PNG or SVG files; matplotlib is imported on use."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gdm_motion_seg.errors import InputError, MissingDependencyError
from gdm_motion_seg.viz.colors import PALETTE

INKS = tuple(colour for colour in PALETTE if np.dot(colour, (0.299, 0.587, 0.114)) < 200)
"""Colours that are visible on white."""
MARKERS = 'osD^vPX*<>hd'
Curve = tuple[Sequence[float], Sequence[float]]
"""x and y of the points of a curve."""


def plot_error_per_pair(path: Path, errors: Mapping[str, Sequence[float]], title: str) -> None:
    """Draw each method's error on each pair, as the paper's figure does."""
    with _axes(path, title, 'pair', 'misclassified points (%)', width=11.0) as axes:
        for style, (name, values) in zip(_styles(), errors.items()):
            axes.plot(range(1, len(values) + 1), values, label=name, lw=1.0, ms=4.0, **style)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.get_major_locator().set_params(integer=True)


def plot_sorted_errors(path: Path, errors: Mapping[str, Sequence[float]], title: str) -> None:
    """Draw the cumulative distribution of each method's errors."""
    with _axes(path, title, 'misclassified points (%)', 'share of pairs with at most this error',
               ) as axes:
        for style, (name, values) in zip(_styles(), errors.items()):
            ordered = sorted(values)
            shares = [(i + 1) / len(ordered) for i in range(len(ordered))]
            axes.step(ordered, shares, where='post', label=name, color=style['color'],
                      ls=style['ls'])
        axes.set_ylim(0.0, 1.02)


def plot_roc(path: Path, curves: Mapping[str, Curve], points: Mapping[str, tuple[float, float]],
             title: str) -> None:
    """Draw ROC curves of outlier detection, with a mark where each method's own labels lie."""
    with _axes(path, title, 'FPR: inliers called outliers',
               'TPR: outliers called outliers') as axes:
        for style, name in zip(_styles(), dict.fromkeys((*curves, *points))):
            if name in curves:
                axes.plot(*curves[name], color=style['color'], ls=style['ls'], label=name)
            if name in points:
                axes.plot(*points[name], color=style['color'], marker=style['marker'], ls='none',
                          label=None if name in curves else name)
        axes.plot([0.0, 1.0], [0.0, 1.0], color='0.8', lw=0.8)
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.02)


def plot_accuracy_against_time(path: Path, points: Mapping[str, tuple[float, float]], title: str,
                               ) -> None:
    """Draw each method at its time (logarithmic) and its error."""
    with _axes(path, title, 'seconds per pair', 'misclassified points (%)') as axes:
        for style, (name, (seconds, error)) in zip(_styles(), points.items()):
            axes.plot(seconds, error, color=style['color'], marker=style['marker'], ls='none',
                      label=name)
        axes.set_xscale('log')
        axes.set_ylim(bottom=0.0)


def plot_curves(path: Path, steps: Sequence[str], curves: Mapping[str, Sequence[float]],
                title: str, x_label: str, y_label: str) -> None:
    """Draw the results of each method over the steps of a sweep."""
    with _axes(path, title, x_label, y_label) as axes:
        for style, (name, values) in zip(_styles(), curves.items()):
            axes.plot(range(len(steps)), values, label=name, ms=5.0, **style)
        axes.set_xticks(range(len(steps)), steps)
        axes.set_ylim(bottom=0.0)


def plot_reliability(path: Path, bins: Sequence[tuple[float, float, int]], title: str) -> None:
    """
    Draw the share of keypoints that move against their ``moving``.

    Parameters
    ----------
    path : Path
        PNG or SVG.
    bins : sequence of (float, float, int)
        Mean of ``moving`` in a bin, the share of its keypoints that move, and their number.
    title : str
        Title of the plot.

    """
    with _axes(path, title, 'moving, as reported', 'share of the keypoints that move') as axes:
        axes.plot([0.0, 1.0], [0.0, 1.0], color='0.6', lw=1.0, label='calibrated')
        style = next(_styles())
        axes.plot([b[0] for b in bins], [b[1] for b in bins], label='measured', **style)
        for said, share, count in bins:
            axes.annotate(f'{count:,}', (said, share), xytext=(4, -12), fontsize='x-small',
                          textcoords='offset points')
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.02)


def _styles() -> Iterator[dict[str, Any]]:
    """Return colours, line styles and markers that distinguish many methods."""
    number = 0
    while True:
        red, green, blue = INKS[number % len(INKS)]
        yield {'color': (red / 255, green / 255, blue / 255),
               'ls': ('-', '--', ':', '-.')[number // len(INKS) % 4],
               'marker': MARKERS[number % len(MARKERS)]}
        number += 1


@contextmanager
def _axes(path: Path, title: str, x_label: str, y_label: str, width: float = 7.5) -> Iterator[Any]:
    """Open a figure without a display and write it at the end of the block."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError('plots need the package matplotlib: '
                                     'pip install matplotlib') from None
    figure = Figure(figsize=(width, 4.8), layout='constrained')
    axes = figure.add_subplot(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(color='0.92')
    axes.set_axisbelow(True)
    yield axes
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc='outside right upper', fontsize='small')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Keep text as text, and make the same file from the same numbers.
        with rc_context({'svg.fonttype': 'none', 'svg.hashsalt': 'gdm_motion_seg'}):
            figure.savefig(path, dpi=120,
                           metadata={'Date': None} if path.suffix == '.svg' else None)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from None
