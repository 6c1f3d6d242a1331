# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Synthetic scenes: error and K by difficulty of the scene, and the error of F."""

from collections.abc import Sequence

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg_tools.bench.benchmark import AUTO, Benchmark, GIVEN, means, of_mode, Row
from gdm_motion_seg_tools.bench.fundamentals import fit_fundamental, refine_fundamental
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.metrics import match_motions, outlier_rates
from gdm_motion_seg_tools.bench.poses import measure_poses
from gdm_motion_seg_tools.datasets.pair import LabelledPair
from gdm_motion_seg_tools.datasets.synthetic import near_outliers, read_synthetic, SWEEPS

SMALL = 'small='
"""Prefix of the groups of the sweep of small bodies."""
VISIBLE_PX = 1.5
"""A body is visible if half of its points are farther than this from the true F of the world."""
WORST_RATIO = 1000.0
"""Replaces the infinite ratio of a scene whose motions were not found; JSON has no infinity."""


def measure(pair: LabelledPair, prediction: Prediction, method: Method, mode: str) -> Row:
    """Return rates of outliers, and compare each F with one fitted to the true labels."""
    row: Row = {}
    if method.rejects_outliers and (pair.truth < 0).any():
        row['tpr'], row['fpr'] = outlier_rates(prediction.labels, pair.truth)
    if len(prediction.fundamentals):
        found, fitted = epipolar_errors(pair, prediction)
        if found:
            row |= {'epipolar_error': float(np.median(found)),
                    'epipolar_error_true_labels': float(np.median(fitted)),
                    'epipolar_error_ratio': float(np.median(np.divide(found, fitted)))}
    if pair.group.startswith(SMALL) and mode == AUTO:
        row |= small_body(pair, prediction)
    return row


def small_body(pair: LabelledPair, prediction: Prediction) -> Row:
    """
    Return whether the body of a scene was found, and rates of the other points.

    It is found if a motion has at least half of its points and they are at least half of that
    motion. A motion that is neither the body nor most of the world is false.
    """
    body, world = pair.truth == 1, pair.truth == 0
    found, false = 0, 0
    for k in np.unique(prediction.labels[prediction.labels >= 0]):
        said = prediction.labels == k
        hits = int((said & body).sum())
        if 2 * hits >= max(int(body.sum()), int(said.sum())):
            found = 1
        elif 2 * int((said & world).sum()) <= int(world.sum()):
            false += 1
    far = sampson_distances(pair.fundamentals[0], pair.x1[body], pair.x2[body]) > VISIBLE_PX
    outlier = prediction.labels < 0
    row: Row = {'false_motions': float(false),
                'near_outliers_found': float(outlier[near_outliers(pair)].mean()),
                'inliers_lost': float(outlier[pair.truth >= 0].mean())}
    return row | ({'found': float(found)} if far.mean() >= 0.5 else {})


def epipolar_errors(pair: LabelledPair, prediction: Prediction) -> tuple[list[float], list[float]]:
    """
    Return the error of F for each motion that determines one: as found, and by the true labels.

    The error is the median Sampson distance, in pixels, of the motion's points before noise was
    added. A motion that was not found has an infinite error.
    """
    match = match_motions(prediction.labels, pair.truth)
    assert pair.clean is not None
    found, fitted = [], []
    for k, true_f in enumerate(pair.fundamentals):
        members = pair.truth == k
        if not np.isfinite(true_f).all() or members.sum() < 8:
            continue
        exact1, exact2 = pair.clean[0][members], pair.clean[1][members]

        def error(f: FloatArray) -> float:
            return float(np.median(sampson_distances(f, exact1, exact2)))

        label = match.found_for(k)
        f = prediction.fundamentals[label] if label is not None else np.full((3, 3), np.nan)
        x1, x2 = pair.x1[members], pair.x2[members]
        found.append(error(f) if np.isfinite(f).all() else np.inf)
        fitted.append(error(refine_fundamental(fit_fundamental(x1, x2), x1, x2)))
    return found, fitted


def summarise(rows: Sequence[Row]) -> dict[str, float]:
    """Mean over all scenes, then the same for each step of each sweep (``error_outliers_60``)."""
    given, auto = of_mode(rows, GIVEN), of_mode(rows, AUTO)
    summary = (means(given, {'error': 'error'})
               | means(auto, {'error_auto': 'error', 'k_right': 'k_right'})
               | _ratios(given) | means(given, {'tpr': 'tpr', 'fpr': 'fpr', 'seconds': 'seconds'})
               | means(auto, {'seconds_auto': 'seconds'}))
    for sweep, steps in SWEEPS.items():
        for step in steps:
            end = f'{sweep}_{step}'
            summary |= means(_of_step(given, sweep, step), {f'error_{end}': 'error'})
            summary |= means(_of_step(auto, sweep, step),
                             {f'error_auto_{end}': 'error', f'k_right_{end}': 'k_right'})
    small = [row for row in auto if row['group'].startswith(SMALL)]
    for step in SWEEPS['small']:
        summary |= means(_of_step(auto, 'small', step), {f'found_{step}': 'found'})
    return summary | means(small, {key: key for key in (
        'false_motions', 'near_outliers_found', 'inliers_lost')})


def _of_step(rows: Sequence[Row], sweep: str, step: str) -> list[Row]:
    return [row for row in rows if row['group'] == f'{sweep}={step}']


def _ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Return median and 90th percentile over the scenes; a few failures would dominate a mean."""
    by_pair: dict[str, list[float]] = {}
    for row in rows:
        if (ratio := row.get('epipolar_error_ratio')) is not None:
            by_pair.setdefault(row['pair'], []).append(ratio)
    if not by_pair:
        return {}
    medians = [float(np.median(values)) for values in by_pair.values()]
    middle, high = (float(min(np.quantile(medians, q, method='higher'), WORST_RATIO))
                    for q in (0.5, 0.9))
    return {'epipolar_error_ratio': middle, 'epipolar_error_ratio_90': high}


HEADLINE = ('error', 'error_auto', 'k_right', 'epipolar_error_ratio', 'epipolar_error_ratio_90',
            'tpr', 'fpr', 'found_12', 'found_20', 'found_40', 'false_motions',
            'near_outliers_found', 'inliers_lost', 'rotation_error_deg', 'direction_error_deg',
            'seconds', 'seconds_auto', 'failures')

BENCHMARK = Benchmark('synthetic', read_synthetic, measure, summarise, needs_data=False,
                      headline=HEADLINE, product=measure_poses)
