# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The metrics of the benchmarks."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from gdm_motion_seg_tools.bench.metrics import (
    error_percent, inlier_error_percent, is_false_alarm, match_motions, moving_rates,
    outlier_rates, roc, ROC_GRID, roc_on_grid, tpr_at_fpr)

TRUTH = np.array([0] * 6 + [1] * 3 + [-1])


def test_other_names_of_motions_are_not_an_error():
    assert error_percent(np.where(TRUTH < 0, -1, 1 - TRUTH), TRUTH) == 0.0


def test_every_wrong_point_counts_outliers_included():
    found = TRUTH.copy()
    found[0], found[9] = 1, 0
    assert error_percent(found, TRUTH) == pytest.approx(20.0)


def test_the_inlier_error_counts_only_the_inliers_that_were_kept():
    found = TRUTH.copy()
    found[0], found[1], found[9] = 1, -1, 0
    assert inlier_error_percent(found, TRUTH) == pytest.approx(100.0 / 8)
    assert np.isnan(inlier_error_percent(np.full(10, -1), TRUTH))


def test_an_outlier_is_never_matched_to_a_motion():
    assert error_percent(np.full(10, -1), TRUTH) == pytest.approx(90.0)
    assert error_percent(np.zeros(4, int), np.full(4, -1)) == pytest.approx(100.0)


def test_of_a_split_motion_only_the_larger_part_is_right():
    assert error_percent(np.array([0, 0, 0, 0, 2, 2, 1, 1, 1, -1]), TRUTH) == pytest.approx(20.0)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=40),
       st.permutations(range(4)))
@settings(max_examples=60, deadline=None)
def test_the_error_does_not_depend_on_names(pairs, names):
    found, truth = np.array(pairs).T
    renamed = np.where(found < 0, -1, np.array(names)[found])
    assert error_percent(renamed, truth) == pytest.approx(error_percent(found, truth))
    assert 0.0 <= error_percent(found, truth) <= 100.0


def test_the_matching_is_optimal():
    found = np.array([0, 0, 0, 1, 1, 1, 1])
    truth = np.array([0, 0, 1, 0, 0, 0, 1])
    match = match_motions(found, truth)
    assert match.correct.sum() == 4
    assert match.found_for(0) == 1
    assert match.found_for(1) == 0


def test_rates_of_outliers_follow_the_paper():
    tpr, fpr = outlier_rates(np.array([-1, 0, -1, 0]), np.array([-1, -1, 0, 0]))
    assert (tpr, fpr) == (0.5, 0.5)
    assert np.isnan(outlier_rates(np.zeros(3, int), np.zeros(3, int))[0])


def test_a_perfect_ranking_has_a_perfect_roc_curve():
    truth = np.array([0] * 50 + [-1] * 50)
    scores = np.arange(100.0)
    assert tpr_at_fpr(scores, truth, 0.0) == 1.0
    assert roc_on_grid(scores, truth) == [1.0] * len(ROC_GRID)
    assert tpr_at_fpr(-scores, truth, 0.1) == 0.0


def test_equal_scores_move_along_the_roc_curve_together():
    truth = np.array([0, -1, 0, -1])
    false_rates, true_rates = roc(np.array([1.0, 1.0, 0.0, 0.0]), truth)
    assert false_rates.tolist() == [0.0, 0.5, 1.0]
    assert true_rates.tolist() == [0.0, 0.5, 1.0]


def test_an_infinite_or_missing_score_ranks_first():
    truth = np.array([-1, -1, 0, 0])
    assert tpr_at_fpr(np.array([np.inf, np.nan, 3.0, 2.0]), truth, 0.0) == 1.0


def test_every_motion_except_the_background_moves():
    truth = np.array([0] * 6 + [1] * 2 + [2] * 2)
    found = np.array([0] * 5 + [1] + [1] * 2 + [-1, 2])
    precision, recall = moving_rates(found, truth, background=0)
    assert precision == pytest.approx(3 / 4)
    assert recall == pytest.approx(3 / 4)


def test_precision_is_undefined_if_nothing_is_reported_to_move():
    precision, recall = moving_rates(np.zeros(4, int), np.array([0, 0, 0, 1]), 0)
    assert np.isnan(precision)
    assert recall == 0.0


def test_a_second_motion_with_a_twentieth_of_the_points_is_a_false_alarm():
    assert is_false_alarm(np.array([0] * 95 + [1] * 5))
    assert not is_false_alarm(np.array([0] * 96 + [1] * 4))
    assert not is_false_alarm(np.full(100, -1))
    assert not is_false_alarm(np.empty(0, np.int64))
