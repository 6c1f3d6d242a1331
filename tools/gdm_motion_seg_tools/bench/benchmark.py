# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a benchmark on a data set is: pairs, ways to run them, numbers for a row, a summary."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.datasets.pair import LabelledPair

Row = dict[str, Any]
"""One run of one method on one pair with one seed, as it stands in the JSON."""

GIVEN, AUTO, STATIC = 'given', 'auto', 'static'
"""The ways to run a pair: K given, K unknown, and K unknown on the background's points alone."""


@dataclass(frozen=True)
class Benchmark:
    """A data set and what is measured on it."""

    name: str
    read: Callable[[Any], Iterable[LabelledPair]]
    """Read the pairs from the folder of --data (None where none is needed)."""
    measure: Callable[[LabelledPair, Prediction, Method, str], Row]
    """Give the numbers of one run in one mode that only this benchmark has."""
    summarise: Callable[[Sequence[Row]], dict[str, float]]
    """Turn the rows of one method into the keys of the summary."""
    modes: tuple[str, ...] = (GIVEN, AUTO)
    needs_data: bool = True
    """Whether the user must say where the data are."""
    folder: str = ''
    """What the data set calls its folder, where that is not the name of the benchmark."""
    headline: tuple[str, ...] = ()
    """Keys of the table on the screen where there are too many; all of them if empty."""
    product: Callable[[], tuple[dict[str, float], list[Row]]] | None = None
    """Give figures that only this package's pipeline has, and their rows; measured when all
    pairs are."""


def common_row(pair: LabelledPair, prediction: Prediction) -> Row:
    """Give the numbers that every run has."""
    return {
        'n_points': len(pair),
        'k_true': pair.n_motions,
        'k_found': prediction.n_motions,
        'error': error_percent(prediction.labels, pair.truth),
        'k_right': float(prediction.n_motions == pair.n_motions),
    }


def of_mode(rows: Iterable[Row], mode: str) -> list[Row]:
    """Pick the rows of one mode."""
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
    """Return mean_of_medians under each name of the summary; undefined ones are left out."""
    found = {name: mean_of_medians(rows, key) for name, key in keys.items()}
    return {name: value for name, value in found.items() if np.isfinite(value)}
