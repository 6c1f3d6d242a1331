# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""AdelaideRMF: one to four motions among many wrong matches."""

from collections.abc import Sequence

from gdm_motion_seg_tools.bench.benchmark import AUTO, Benchmark, GIVEN, means, of_mode, Row
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.metrics import (
    inlier_error_percent, outlier_rates, roc_on_grid, tpr_at_fpr)
from gdm_motion_seg_tools.datasets.adelaide import read_adelaide
from gdm_motion_seg_tools.datasets.pair import LabelledPair

FALSE_POSITIVE_RATES = (0.01, 0.05, 0.1)


def measure(pair: LabelledPair, prediction: Prediction, method: Method, mode: str) -> Row:
    """Return rates of outlier detection, by the labels and by the ranking of the score."""
    row: Row = {'inlier_error': inlier_error_percent(prediction.labels, pair.truth)}
    if method.rejects_outliers:
        row['tpr'], row['fpr'] = outlier_rates(prediction.labels, pair.truth)
    if prediction.scores is not None:
        row |= {f'tpr_at_fpr_{rate:g}': tpr_at_fpr(prediction.scores, pair.truth, rate)
                for rate in FALSE_POSITIVE_RATES}
        row['roc'] = roc_on_grid(prediction.scores, pair.truth)
    return row


def summarise(rows: Sequence[Row]) -> dict[str, float]:
    """Mean over the pairs, with K given and unknown."""
    rates = {f'tpr_at_fpr_{rate:g}': f'tpr_at_fpr_{rate:g}' for rate in FALSE_POSITIVE_RATES}
    given, auto = of_mode(rows, GIVEN), of_mode(rows, AUTO)
    return (means(given, {'error': 'error', 'inlier_error': 'inlier_error'})
            | means(auto, {'error_auto': 'error', 'k_right': 'k_right'})
            | means(given, {'tpr': 'tpr', 'fpr': 'fpr', **rates, 'seconds': 'seconds'})
            | means(auto, {'tpr_auto': 'tpr', 'fpr_auto': 'fpr', 'seconds_auto': 'seconds'}))


BENCHMARK = Benchmark('adelaide', read_adelaide, measure, summarise, folder='adelaidermf_f')
