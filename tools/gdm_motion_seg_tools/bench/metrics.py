# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Measures of the agreement of labels with the ground truth.

Labels are 0..K-1 for motions and -1 for outliers, in both arrays.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

SIZEABLE = 0.05
"""Smallest share of the points of a second motion that is a false alarm in a static scene."""

ROC_GRID = tuple(float(x) for x in np.round(np.linspace(0.0, 1.0, 51), 2))
"""False positive rates at which ROC curves of many pairs are averaged."""


@dataclass(frozen=True)
class Match:
    """The one-to-one matching of found and true motions with the most equal labels."""

    found: IntArray
    true: IntArray
    correct: BoolArray
    """(N,) whether the label of a point is right, also for outliers."""

    def found_for(self, true_label: int) -> int | None:
        """Return the found motion that is matched to a true one, if any."""
        where = np.flatnonzero(self.true == true_label)
        return int(self.found[where[0]]) if len(where) else None


def match_motions(found: IntArray, truth: IntArray) -> Match:
    """Match motions by the Hungarian method, and outliers to outliers."""
    found_ids, found_at = np.unique(found, return_inverse=True)
    true_ids, true_at = np.unique(truth, return_inverse=True)
    overlap = np.zeros((len(found_ids), len(true_ids)))
    np.add.at(overlap, (found_at, true_at), 1)
    overlap[np.ix_(found_ids < 0, true_ids >= 0)] = 0  # an outlier is not a motion
    overlap[np.ix_(found_ids >= 0, true_ids < 0)] = 0
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    agree = overlap[rows, columns] > 0
    f, t = found_ids[rows[agree]], true_ids[columns[agree]]
    correct = np.zeros(len(truth), bool)
    for a, b in zip(f, t):
        correct |= (found == a) & (truth == b)
    return Match(f, t, correct)


def error_percent(found: IntArray, truth: IntArray) -> float:
    """Return the share of all points whose label is wrong, in percent."""
    if len(truth) == 0:
        return float('nan')
    return 100.0 * float(1.0 - match_motions(found, truth).correct.mean())


def inlier_error_percent(found: IntArray, truth: IntArray) -> float:
    """Return the share of the true inliers that were kept but got a wrong motion, in percent."""
    kept = (found >= 0) & (truth >= 0)
    if not kept.any():
        return float('nan')
    return error_percent(found[kept], truth[kept])


def outlier_rates(found: IntArray, truth: IntArray) -> tuple[float, float]:
    """Return TPR and FPR of the outliers as the paper defines them; NaN where undefined."""
    said, is_outlier = found < 0, truth < 0
    return _share(said[is_outlier]), _share(said[~is_outlier])


def roc(scores: FloatArray, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return FPR and TPR of the ranking of the points by score."""
    is_outlier = truth < 0
    values = np.nan_to_num(scores, nan=np.finfo(float).max)
    order = np.argsort(-values, kind='stable')
    ranked, values = is_outlier[order], values[order]
    last_of_tie = np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)
    tp, fp = np.cumsum(ranked)[last_of_tie], np.cumsum(~ranked)[last_of_tie]
    return (np.append(0.0, fp / max(1, int((~is_outlier).sum()))),
            np.append(0.0, tp / max(1, int(is_outlier.sum()))))


def tpr_at_fpr(scores: FloatArray, truth: IntArray, fpr: float) -> float:
    """Return the best TPR of the ranking at an FPR or less; NaN without outliers."""
    if not (truth < 0).any() or not (truth >= 0).any():
        return float('nan')
    false_rates, true_rates = roc(scores, truth)
    return float(true_rates[false_rates <= fpr].max())


def roc_on_grid(scores: FloatArray, truth: IntArray) -> list[float]:
    """Return the TPR at each FPR of ROC_GRID; empty without outliers or without inliers."""
    if not (truth < 0).any() or not (truth >= 0).any():
        return []
    false_rates, true_rates = roc(scores, truth)
    at = np.searchsorted(false_rates, ROC_GRID, side='right') - 1
    return [round(float(rate), 4) for rate in true_rates[at]]


def moving_rates(found: IntArray, truth: IntArray, background: int) -> tuple[float, float]:
    """
    Return precision and recall of "this point moves by itself".

    A point moves if its true label is not the background. It is reported to move if it has a
    motion other than the one matched to the background; an outlier is not reported to move. NaN if
    undefined.
    """
    still = match_motions(found, truth).found_for(background)
    said = (found >= 0) & (found != (still if still is not None else -1))
    moves = (truth != background) & (truth >= 0)
    return _share(moves[said]), _share(said[moves])


def is_false_alarm(found: IntArray) -> bool:
    """Whether more than one motion has at least 5 % of the points of a static scene."""
    counts = np.bincount(found[found >= 0]) if len(found) else np.zeros(0)
    return int((counts >= SIZEABLE * len(found)).sum()) > 1


def _share(flags: BoolArray) -> float:
    return float(flags.mean()) if len(flags) else float('nan')
