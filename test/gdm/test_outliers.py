# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Classic, Naive, Known-Fraction and Model-Reassign (section 5 of the paper)."""

import numpy as np
import pytest

from gdm_motion_seg.gdm import GdmConfig, global_dimension, minimize_global_dimension
from gdm_motion_seg.gdm.outliers import reassign_to_models, set_aside


@pytest.fixture(scope='module')
def polluted(draw):
    """Return two noisy subspaces and a fifth of outliers, the truth, and a start near it."""
    rng = np.random.default_rng(0)
    inliers, labels = draw.hybrid(0, (5, 5), 60, noise=0.01)
    outliers = rng.normal(size=(30, 9)) * np.sqrt(5 / 9)
    truth = np.concatenate([labels, np.full(30, -1)])
    start = np.where(truth < 0, rng.integers(0, 2, 150), truth)
    return np.vstack([inliers, outliers]), truth, start[None]


def run(polluted, **settings):
    vectors, _, start = polluted
    return minimize_global_dimension(vectors, 2, GdmConfig(n1=0, **settings), starts=start)


def test_classic_rejects_nothing(polluted):
    assert (run(polluted).labels >= 0).all()


def test_known_fraction_removes_the_given_fraction_and_these_are_outliers(polluted):
    result = run(polluted, outliers='known-fraction', outlier_fraction=0.2)
    assert (result.labels < 0).sum() == 30
    np.testing.assert_array_equal(result.labels, polluted[1])
    assert not result.memberships[:, result.labels < 0].any()
    assert result.global_dimension == pytest.approx(global_dimension(polluted[0], result.labels))


def test_known_fraction_of_zero_is_classic(polluted):
    result = run(polluted, outliers='known-fraction', outlier_fraction=0.0)
    assert (result.labels >= 0).all()


def test_the_printed_gradient_ranks_outliers_where_the_linear_price_does_not(polluted):
    wrong = {price: int((run(polluted, outliers='known-fraction', outlier_fraction=0.2,
                             alpha=0.05, outlier_price=price).labels != polluted[1]).sum())
             for price in ('quadratic', 'linear')}
    assert wrong['quadratic'] <= 4 and wrong['linear'] >= 20


def test_naive_pays_alpha_for_each_outlier(polluted):
    vectors, truth, _ = polluted
    result = run(polluted, outliers='naive', alpha=0.02)
    assert np.mean(result.labels[truth < 0] < 0) > 0.9
    assert result.global_dimension == pytest.approx(
        global_dimension(vectors, result.labels, alpha=0.02))


@pytest.mark.parametrize('alpha, expected', ((10.0, 0.0), (1e-6, 0.8)))
def test_naive_depends_on_its_price_as_the_paper_warns(polluted, alpha, expected):
    share = np.mean(run(polluted, outliers='naive', alpha=alpha).labels < 0)
    assert share == expected if expected == 0.0 else share > 0.3


def test_model_reassign_recovers_inliers_and_rejects_outliers(polluted):
    result = run(polluted, outliers='model-reassign', outlier_fraction=0.3, kappa=0.1)
    np.testing.assert_array_equal(result.labels, polluted[1])


def test_model_reassign_without_kappa_takes_the_spread_of_each_cluster(polluted):
    result = run(polluted, outliers='model-reassign', outlier_fraction=0.3, kappa=0.0, r=4.0)
    assert np.mean(result.labels == polluted[1]) > 0.95
    tighter = run(polluted, outliers='model-reassign', outlier_fraction=0.3, kappa=0.0, r=1.0)
    assert (tighter.labels < 0).sum() > (result.labels < 0).sum()


def test_each_cluster_has_its_own_limit_without_kappa(draw):
    rng = np.random.default_rng(1)
    sharp = np.column_stack([rng.normal(size=(50, 2)), 1e-4 * rng.normal(size=(50, 2))])
    blurred = np.column_stack([1e-1 * rng.normal(size=(50, 2)), rng.normal(size=(50, 2))])
    labels = np.repeat([0, 1], 50)
    near_sharp = np.array([[1.0, 1.0, 0.05, 0.0], [0.05, 0.0, 1.0, 1.0]])
    vectors = np.vstack([sharp, blurred, near_sharp])
    found = reassign_to_models(vectors, np.append(labels, [-1, -1]), np.array([2.0, 2.0]),
                               GdmConfig(kappa=0.0, r=3.0))
    assert found[-2] == -1 and found[-1] == 1


def test_model_reassign_ignores_an_empty_cluster():
    vectors = np.vstack([np.eye(3)[:2]] * 4)
    found = reassign_to_models(vectors, np.zeros(8, int), np.array([2.0, 0.0]), GdmConfig())
    assert (found == 0).all()


def test_setting_aside_keeps_as_many_points_as_there_are_clusters():
    memberships = np.full((1, 3, 4), 1 / 3)
    kept = set_aside(memberships, 0.99)
    assert (kept.sum(axis=1) > 0).sum() == 2
    np.testing.assert_allclose(kept.sum(axis=1)[kept.sum(axis=1) > 0], 1.0)


def test_the_outlier_rank_is_the_membership_in_the_outlier_row():
    memberships = np.array([[[0.1, 0.7, 0.3, 0.0], [0.9, 0.3, 0.7, 1.0]]])
    kept = set_aside(memberships, 0.5)[0, 0] > 0
    np.testing.assert_array_equal(kept, [True, False, False, True])


@pytest.mark.parametrize('outliers', ('naive', 'known-fraction', 'model-reassign'))
def test_every_variant_runs_from_its_own_starts_and_in_the_paper_s_mode(polluted, outliers):
    for search in ('default', 'paper'):
        config = GdmConfig(n1=2, outliers=outliers, search=search)
        result = minimize_global_dimension(polluted[0], 2, config, rng=0)
        assert set(result.labels) <= {-1, 0, 1} and np.isfinite(result.global_dimension)
