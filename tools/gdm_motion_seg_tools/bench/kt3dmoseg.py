# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""KT3DMoSeg: a driving camera, a large background, small movers, pairs of frames four apart."""

from collections.abc import Sequence

from gdm_motion_seg_tools.bench.benchmark import (
    AUTO, Benchmark, GIVEN, means, of_mode, Row, STATIC)
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.metrics import is_false_alarm, moving_rates
from gdm_motion_seg_tools.datasets.kt3dmoseg import read_kt3dmoseg
from gdm_motion_seg_tools.datasets.pair import LabelledPair


def measure(pair: LabelledPair, prediction: Prediction, method: Method, mode: str) -> Row:
    """Return precision and recall of movers, or the false alarms of a static scene."""
    if mode == STATIC:
        return {'false_alarm': float(is_false_alarm(prediction.labels))}
    if pair.background is None:
        return {}
    precision, recall = moving_rates(prediction.labels, pair.truth, pair.background)
    return {'moving_precision': precision, 'moving_recall': recall}


def summarise(rows: Sequence[Row]) -> dict[str, float]:
    """Mean over all pairs of all clips."""
    given, auto = of_mode(rows, GIVEN), of_mode(rows, AUTO)
    moving = ('moving_precision', 'moving_recall')
    return (means(given, {'error': 'error'})
            | means(auto, {'error_auto': 'error', 'k_right': 'k_right'})
            | means(given, {key: key for key in moving})
            | means(auto, {f'{key}_auto': key for key in moving})
            | means(of_mode(rows, STATIC), {'static_false_alarms': 'false_alarm'})
            | means(given, {'seconds': 'seconds'}) | means(auto, {'seconds_auto': 'seconds'}))


BENCHMARK = Benchmark('kt3dmoseg', read_kt3dmoseg, measure, summarise, (GIVEN, AUTO, STATIC))
