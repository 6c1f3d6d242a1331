# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The search gives the results of a plain Algorithm 1, and better ones by default."""

from dataclasses import replace

import numpy as np
import pytest

from gdm_motion_seg.gdm import (empirical_dimension, GdmConfig, global_dimension,
                                minimize_global_dimension, reassign_points)
from gdm_motion_seg.gdm import kernels
from gdm_motion_seg.gdm.starts import agglomerative_partition

PAPER = GdmConfig(n1=0, search='paper')


@pytest.mark.parametrize('noise', (0.0, 1e-3, 0.05))
@pytest.mark.parametrize('dimensions', ((3, 3), (6, 7, 8)))
def test_engine_and_plain_transcription_give_the_same_labels_from_the_same_starts(draw, plain,
                                                                                  dimensions,
                                                                                  noise):
    vectors, truth = draw.hybrid(1, dimensions, 20, noise=noise)
    rng, k = np.random.default_rng(0), len(dimensions)
    draws = rng.random((2, len(vectors) - k, 20, 2))
    starts = [plain.agglomerative_start(vectors, k, 0.35, 15.0, own) for own in draws]
    starts = np.array(starts + [rng.integers(0, k, len(vectors)), truth])
    labels, value, values = plain.algorithm1(vectors, k, 0.35, 15.0, 30, 4, starts)
    config = replace(PAPER, n3=4)
    result = minimize_global_dimension(vectors, k, config, starts=starts)
    np.testing.assert_array_equal(result.labels, labels)
    assert result.global_dimension == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(result.restart_global_dimensions, values, rtol=1e-9)
    assert (result.steps == 30).all()


@pytest.mark.parametrize('epsilon', (0.2, 0.7, 1.0))
def test_engine_and_plain_transcription_agree_for_other_epsilons(draw, plain, epsilon):
    vectors, _ = draw.hybrid(2, (3, 5), 20, noise=0.02)
    starts = np.random.default_rng(0).integers(0, 2, (2, 40))
    labels, value, _ = plain.algorithm1(vectors, 2, epsilon, 10.0, 10, 5, starts)
    config = GdmConfig(n1=0, search='paper', epsilon=epsilon, p=10.0, n2=10, n3=5)
    result = minimize_global_dimension(vectors, 2, config, starts=starts)
    np.testing.assert_array_equal(result.labels, labels)
    assert result.global_dimension == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize('criterion, name, noise', [
    (kernels.BY_UNION, 'union', 0.0), (kernels.BY_UNION, 'union', 0.05),
    (kernels.BY_GLOBAL_DIMENSION, 'global', 0.0), (kernels.BY_GLOBAL_DIMENSION, 'global', 0.05),
    # Without noise the growth of many pairs is 0, and rounding would decide.
    (kernels.BY_GROWTH, 'growth', 0.05)])
def test_the_agglomerative_start_is_that_of_the_plain_transcription(draw, plain, criterion, name,
                                                                    noise):
    vectors, _ = draw.hybrid(3, (2, 4, 6), 20, noise=noise)
    draws = np.random.default_rng(5).random((57, 20, 2))
    np.testing.assert_array_equal(
        kernels.agglomerate(vectors, 3, 0.35, 15.0, draws, criterion),
        plain.agglomerative_start(vectors, 3, 0.35, 15.0, draws, name))


def test_merging_by_the_union_leaves_no_tiny_sets_unlike_the_literal_rule(draw):
    vectors, _ = draw.hybrid(3, (6, 6), 60, noise=0.01)
    smallest = {}
    for search in ('paper', 'paper-literal'):
        rng = np.random.default_rng(0)
        starts = [agglomerative_partition(vectors, 2, GdmConfig(search=search), rng)
                  for _ in range(20)]
        smallest[search] = np.mean([np.bincount(start).min() for start in starts]) / len(vectors)
    assert smallest['paper'] > 1.5 * smallest['paper-literal']


def test_the_literal_reading_of_the_start_can_be_selected_and_differs(draw):
    vectors, _ = draw.hybrid(13, (3, 4), 30, noise=0.02)
    starts = {search: minimize_global_dimension(
        vectors, 2, GdmConfig(search=search, n1=1, n2=0, n3=0), rng=3).labels
        for search in ('paper', 'paper-literal')}
    assert (starts['paper'] != starts['paper-literal']).any()


def test_a_descent_in_a_batch_equals_a_single_descent(draw):
    vectors, _ = draw.hybrid(4, (4, 6), 30, noise=0.02)
    starts = np.random.default_rng(0).integers(0, 2, (5, 60))
    together = minimize_global_dimension(vectors, 2, PAPER, starts=starts)
    alone = [minimize_global_dimension(vectors, 2, PAPER, starts=start[None]) for start in starts]
    np.testing.assert_allclose(together.restart_global_dimensions,
                               [one.global_dimension for one in alone], rtol=1e-9)


def test_mixed_dimensions_are_recovered_exactly_in_at_least_95_of_100_seeds_without_noise(draw):
    exact = 0
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        dimensions = rng.integers(2, 9, 2 + seed % 3)
        vectors, truth = draw.hybrid(seed, dimensions, 80)
        result = minimize_global_dimension(vectors, len(dimensions), GdmConfig(n1=30), rng=seed)
        exact += draw.wrong(result.labels, truth) == 0
    assert exact >= 95


def test_with_noise_equal_dimensions_are_recovered_almost_everywhere(draw):
    wrong = 0
    for seed in range(12):
        vectors, truth = draw.hybrid(seed, (5,) * (2 + seed % 3), 60, noise=0.03)
        result = minimize_global_dimension(vectors, 2 + seed % 3, rng=seed)
        wrong += draw.wrong(result.labels, truth)
    assert wrong <= 0.01 * 12 * 180


@pytest.mark.parametrize('search', ('default', 'paper'))
def test_both_searches_find_what_the_literal_start_misses(draw, search):
    vectors, truth = draw.hybrid(7, (7, 6, 7, 3), 60)
    found = minimize_global_dimension(vectors, 4, GdmConfig(search=search), rng=0)
    literal = minimize_global_dimension(vectors, 4, GdmConfig(search='paper-literal'), rng=0)
    assert found.global_dimension < literal.global_dimension - 0.5
    if search == 'default':
        assert draw.wrong(found.labels, truth) <= 2


def test_starts_of_the_caller_are_used_in_addition_and_the_best_is_returned(draw):
    vectors, truth = draw.hybrid(5, (6, 7), 40, noise=0.01)
    start = np.where(np.random.default_rng(0).random(80) < 0.2, 1 - truth, truth)
    result = minimize_global_dimension(vectors, 2, GdmConfig(n1=3), starts=start[None], rng=0)
    assert len(result.restart_global_dimensions) == len(result.steps) == len(result.sweeps) == 4
    assert result.restart_global_dimensions[result.best_restart] == pytest.approx(
        result.restart_global_dimensions.min(), rel=1e-3)
    only = minimize_global_dimension(vectors, 2, GdmConfig(n1=0), starts=start[None])
    np.testing.assert_array_equal(only.labels, truth)


def test_undecided_points_and_soft_starts_are_accepted(draw):
    vectors, truth = draw.hybrid(6, (4, 5), 40)
    undecided = np.where(np.arange(80) % 3 == 0, -1, truth)
    hard = minimize_global_dimension(vectors, 2, GdmConfig(n1=0), starts=undecided[None])
    soft = np.where(undecided < 0, 0.5, undecided == np.arange(2)[:, None])
    same = minimize_global_dimension(vectors, 2, GdmConfig(n1=0), starts=soft[None])
    np.testing.assert_array_equal(hard.labels, truth)
    np.testing.assert_array_equal(same.labels, hard.labels)


def test_starts_are_not_changed(draw):
    vectors, truth = draw.hybrid(6, (4, 5), 40)
    soft = np.full((1, 2, 80), 0.5)
    hard = np.random.default_rng(0).integers(0, 2, (1, 80))
    before = hard.copy()
    minimize_global_dimension(vectors, 2, GdmConfig(n1=0), starts=soft)
    minimize_global_dimension(vectors, 2, GdmConfig(n1=0), starts=hard)
    assert (soft == 0.5).all() and (hard == before).all()


def test_the_result_has_the_global_dimension_of_its_labels(draw):
    vectors, _ = draw.hybrid(8, (3, 6), 40, noise=0.02)
    result = minimize_global_dimension(vectors, 2, rng=1)
    assert result.global_dimension == pytest.approx(global_dimension(vectors, result.labels))
    for k, dimension in enumerate(result.dimensions):
        assert dimension == pytest.approx(empirical_dimension(vectors[result.labels == k]))
    np.testing.assert_allclose(result.memberships.sum(axis=0), 1.0)
    assert (result.steps <= 30).all() and (result.sweeps <= 10).all()


@pytest.mark.parametrize('search', ('default', 'paper'))
def test_the_same_seed_gives_the_same_answer(draw, search):
    vectors, _ = draw.hybrid(9, (5, 6, 6), 30, noise=0.05)
    one, two = (minimize_global_dimension(vectors, 3, GdmConfig(search=search), rng=4)
                for _ in range(2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.restart_global_dimensions, two.restart_global_dimensions)


def test_a_generator_and_its_seed_give_the_same_result(draw):
    vectors, _ = draw.hybrid(9, (5, 6), 30, noise=0.05)
    one = minimize_global_dimension(vectors, 2, rng=4)
    two = minimize_global_dimension(vectors, 2, rng=np.random.default_rng(4))
    np.testing.assert_array_equal(one.labels, two.labels)


def test_more_steps_do_not_change_a_descent_that_has_stopped(draw):
    vectors, truth = draw.hybrid(10, (4, 6), 40)
    result = minimize_global_dimension(vectors, 2, GdmConfig(n1=0, n2=500), starts=truth[None])
    assert result.steps[0] < 500
    np.testing.assert_array_equal(result.labels, truth)


@pytest.mark.parametrize('noise', (0.0, 0.02, 0.2))
def test_reassignment_moves_what_the_plain_transcription_moves(draw, plain, noise):
    vectors, truth = draw.hybrid(11, (4, 5, 7), 25, noise=noise)
    rng = np.random.default_rng(0)
    for share in (0.1, 1.0):
        start = np.where(rng.random(75) < share, rng.integers(0, 3, 75), truth)
        found = reassign_points(vectors, start, 3, GdmConfig(n3=3))
        np.testing.assert_array_equal(found, plain.reassign(vectors, start, 3, 0.35, 15.0, 3))
        assert global_dimension(vectors, found) <= global_dimension(vectors, start)


def test_reassignment_ignores_outliers_unless_they_have_a_price(draw):
    vectors, truth = draw.hybrid(12, (3, 4), 30)
    start = np.where(np.arange(60) % 5 == 0, -1, truth)
    np.testing.assert_array_equal(reassign_points(vectors, start), start)
    priced = reassign_points(vectors, start, 2, GdmConfig(outliers='naive', alpha=0.5))
    np.testing.assert_array_equal(priced, truth)


def test_the_mode_of_the_paper_starts_agglomeratively(draw):
    vectors, _ = draw.hybrid(13, (3, 4), 30)
    config = GdmConfig(search='paper', n1=1, n2=0, n3=0)
    start = agglomerative_partition(vectors, 2, config, np.random.default_rng(3))
    result = minimize_global_dimension(vectors, 2, config, rng=3)
    np.testing.assert_array_equal(result.labels, start)


def test_restarts_with_the_same_partition_keep_their_cluster_order(draw):
    vectors, truth = draw.hybrid(14, (5, 6), 30)
    starts = np.array([truth, 1 - truth])
    result = minimize_global_dimension(vectors, 2, GdmConfig(n1=0), starts=starts)
    assert result.restart_global_dimensions[0] == result.restart_global_dimensions[1]
    np.testing.assert_array_equal(result.labels, starts[result.best_restart])
