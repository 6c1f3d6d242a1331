# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hopkins155: two or three motions between the first and the last frame, no outliers."""

from collections.abc import Sequence

import numpy as np

from gdm_motion_seg.gdm.dimension import global_dimension
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed
from gdm_motion_seg_tools.bench.benchmark import AUTO, Benchmark, GIVEN, means, of_mode, Row
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.datasets.hopkins155 import CATEGORIES, read_hopkins155
from gdm_motion_seg_tools.datasets.pair import LabelledPair


TOLERANCE = 1e-6
"""Relative tolerance of global dimensions."""


def measure(pair: LabelledPair, prediction: Prediction, method: Method, mode: str) -> Row:
    """
    Compare the global dimension that was found with that of the true partition.

    If it is higher, the search has failed; if it is lower, the objective. Points that the method
    rejects are also removed from the true partition: fewer points have a lower dimension.
    """
    if not method.minimises_gd or mode != GIVEN:
        return {}
    if (prediction.labels < 0).all():
        return {'reached_truth': 0.0}
    vectors = embed(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))
    truth = np.where(prediction.labels >= 0, pair.truth, -1)
    found_gd = global_dimension(vectors, prediction.labels)
    true_gd = global_dimension(vectors, truth)
    return {'global_dimension': found_gd, 'global_dimension_of_truth': true_gd,
            'reached_truth': float(found_gd <= true_gd * (1.0 + TOLERANCE))}


def summarise(rows: Sequence[Row]) -> dict[str, float]:
    """Return the errors by the number of motions, as in the paper's tables."""
    given, auto = of_mode(rows, GIVEN), of_mode(rows, AUTO)
    summary: dict[str, float] = {}
    for k in (2, 3):
        summary |= means([r for r in given if r['k_true'] == k],
                         {f'error_{k}': 'error', f'reached_truth_{k}': 'reached_truth'})
    summary |= means(given, {'error': 'error', 'seconds': 'seconds'})
    summary |= means(auto, {'error_auto': 'error', 'k_right': 'k_right',
                            'seconds_auto': 'seconds'})
    for k in (2, 3):
        summary |= means([r for r in auto if r['k_true'] == k],
                         {f'error_auto_{k}': 'error', f'k_right_{k}': 'k_right'})
        for group in CATEGORIES:
            summary |= means([r for r in given if r['k_true'] == k and r['group'] == group],
                             {f'error_{k}_{group}': 'error'})
    return summary


HEADLINE = ('error_2', 'error_3', 'error_auto', 'k_right', 'reached_truth_2', 'reached_truth_3',
            'seconds', 'seconds_auto', 'failures')

BENCHMARK = Benchmark('hopkins155', read_hopkins155, measure, summarise, headline=HEADLINE)
