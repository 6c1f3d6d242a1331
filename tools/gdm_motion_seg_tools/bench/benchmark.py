# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Definition of a benchmark on a data set: pairs, modes, numbers of a row, summary."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.datasets.pair import LabelledPair

Row = dict[str, Any]
"""One run of one method on one pair with one seed, as in the JSON."""

GIVEN, AUTO, STATIC = 'given', 'auto', 'static'
"""The modes of a run: K given, K unknown, and K unknown on the points of the background only."""


@dataclass(frozen=True)
class Benchmark:
    """A data set and its measurements."""

    name: str
    read: Callable[[Any], Iterable[LabelledPair]]
    """Reads the pairs from the folder of --data (None if none is needed)."""
    measure: Callable[[LabelledPair, Prediction, Method, str], Row]
    """Returns the numbers of one run in one mode that only this benchmark has."""
    summarise: Callable[[Sequence[Row]], dict[str, float]]
    """Returns the summary of the rows of one method."""
    modes: tuple[str, ...] = (GIVEN, AUTO)
    needs_data: bool = True
    """Whether --data is required."""
    folder: str = ''
    """Name of the folder of the data set, if it is not the name of the benchmark."""
    headline: tuple[str, ...] = ()
    """Keys of the printed table; all of them if empty."""
    product: Callable[[], tuple[dict[str, float], list[Row]]] | None = None
    """Returns figures of the pipeline of this package, and their rows; measured only if all pairs
    are run."""


def common_row(pair: LabelledPair, prediction: Prediction) -> Row:
    """Return the numbers that every run has."""
    return {
        'n_points': len(pair),
        'k_true': pair.n_motions,
        'k_found': prediction.n_motions,
        'error': error_percent(prediction.labels, pair.truth),
        'k_right': float(prediction.n_motions == pair.n_motions),
    }


def of_mode(rows: Iterable[Row], mode: str) -> list[Row]:
    """Return the rows of one mode."""
    return [row for row in rows if row['mode'] == mode]


def mean_of_medians(rows: Iterable[Row], key: str) -> float:
    """Return the mean over pairs of the median over seeds; undefined values do not count."""
    by_pair: dict[str, list[float]] = {}
    for row in rows:
        value = row.get(key)
        if value is not None and np.isfinite(value):
            by_pair.setdefault(row['pair'], []).append(float(value))
    medians = [float(np.median(values)) for values in by_pair.values()]
    return float(np.mean(medians)) if medians else float('nan')


def means(rows: Sequence[Row], keys: Mapping[str, str]) -> dict[str, float]:
    """Return mean_of_medians for each key of the summary; undefined ones are omitted."""
    found = {name: mean_of_medians(rows, key) for name, key in keys.items()}
    return {name: value for name, value in found.items() if np.isfinite(value)}
