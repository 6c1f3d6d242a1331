# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bad input raises an error that names it; unusual input has a defined result."""

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import (empirical_dimension, GdmConfig, global_dimension,
                                global_dimension_gradient, minimal_p, minimize_global_dimension,
                                project_onto_simplex, reassign_points)

GOOD = np.random.default_rng(0).normal(size=(12, 4))
NAN = GOOD.copy()
NAN[3, 1] = np.nan
INFINITE = GOOD.copy()
INFINITE[5, 0] = np.inf


@pytest.mark.parametrize('vectors, words', [
    (np.zeros((0, 4)), r'vectors.*\(0, 4\)'),
    ([], r'vectors.*\(0,\)'),
    (np.zeros((5, 0)), r'vectors.*\(5, 0\)'),
    (np.zeros(7), r'vectors.*\(7,\)'),
    (np.zeros((2, 3, 4)), r'vectors.*\(2, 3, 4\)'),
    (NAN, r'vectors\[3\].*nan'),
    (INFINITE, r'vectors\[5\].*inf'),
    ('text', 'vectors.*str'),
    ([[1, 2], [3]], 'vectors.*list'),
    (None, 'vectors')])
def test_vectors_that_cannot_be_used_are_named(vectors, words):
    for call in (lambda: minimize_global_dimension(vectors, 1),
                 lambda: global_dimension(vectors, [0]),
                 lambda: reassign_points(vectors, [0])):
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.parametrize('n_clusters', (0, -1, 13, 1.5, '2', True, None))
def test_an_impossible_number_of_clusters_is_named(n_clusters):
    with pytest.raises(InputError, match=f'n_clusters.*{n_clusters}'):
        minimize_global_dimension(GOOD, n_clusters)


@pytest.mark.parametrize('epsilon', (0.0, -0.1, 1.01, np.nan, np.inf, '0.3', None))
def test_epsilon_out_of_range_is_named(epsilon):
    for call in (lambda: empirical_dimension(GOOD, epsilon),
                 lambda: global_dimension(GOOD, [0] * 12, epsilon),
                 lambda: GdmConfig(epsilon=epsilon)):
        with pytest.raises(InputError, match='epsilon'):
            call()


@pytest.mark.parametrize('p', (0.0, -1.0, np.nan, np.inf, 'x'))
def test_p_out_of_range_is_named(p):
    for call in (lambda: global_dimension(GOOD, [0] * 12, 0.35, p),
                 lambda: global_dimension_gradient(GOOD, [0] * 12, 0.35, p),
                 lambda: GdmConfig(p=p)):
        with pytest.raises(InputError, match=r'\bp must'):
            call()


@pytest.mark.parametrize('settings', [
    {'outlier_fraction': 1.0}, {'outlier_fraction': -0.1}, {'outlier_fraction': np.nan},
    {'alpha': -1.0}, {'kappa': -0.1}, {'n1': -1}, {'n2': 1.5}, {'search': 'fast'},
    {'outliers': 'none'}, {'outlier_price': 'cubic'}])
def test_settings_out_of_range_are_named_with_their_value(settings):
    (name, value), = settings.items()
    with pytest.raises(InputError, match=f'{name}.*{value}'):
        GdmConfig(**settings)


@pytest.mark.parametrize('partition, words', [
    ([0] * 11, r'partition.*\(11,\)'), (np.ones((2, 11)), r'partition.*\(2, 11\)'),
    ([0.5] * 12, 'partition.*float64'), ([-2] + [0] * 11, 'partition.*-2'),
    (np.full((2, 12), np.nan), 'partition.*finite'), (-np.ones((2, 12)), 'partition.*0'),
    (np.zeros((0, 12)), r'partition.*\(0, 12\)')])
def test_partitions_of_the_wrong_kind_are_named(partition, words):
    for call in (global_dimension, global_dimension_gradient):
        with pytest.raises(InputError, match=words):
            call(GOOD, partition)


@pytest.mark.parametrize('starts, words', [
    (np.zeros((1, 11), int), r'starts.*\(1, 11\)'), (np.zeros((1, 12)), 'starts.*float64'),
    (np.full((1, 12), 2), 'starts.*2'), (np.full((1, 12), -2), 'starts.*-2'),
    (np.ones((1, 2, 12)), 'starts.*sum to 1'),
    (np.full((1, 3, 12), 1 / 3), r'starts.*\(1, 3, 12\)'),
    (np.zeros((0, 12), int), 'starts.*at least one'), (None, 'starts.*at least one')])
def test_starts_of_the_wrong_kind_are_named(starts, words):
    with pytest.raises(InputError, match=words):
        minimize_global_dimension(GOOD, 2, GdmConfig(n1=0), starts=starts)


@pytest.mark.parametrize('call, words', [
    (lambda: reassign_points(GOOD, np.full((2, 12), 0.5)), r'labels.*\(2, 12\)'),
    (lambda: reassign_points(GOOD, [0, 1, 2] * 4, 2), 'labels.*2'),
    (lambda: global_dimension(GOOD, [0] * 12, alpha=-1.0), 'alpha.*-1'),
    (lambda: global_dimension(GOOD, [0] * 12, alpha=1.0, price='free'), 'price.*free'),
    (lambda: global_dimension(GOOD, np.ones((1, 12)), alpha=1.0), r'outlier row.*\(1, 12\)'),
    (lambda: minimal_p(0, 3), 'n_clusters.*0'), (lambda: minimal_p(2, 1.5), 'dimension.*1.5'),
    (lambda: project_onto_simplex([1.0, 2.0]), r'columns.*\(2,\)'),
    (lambda: project_onto_simplex([[np.nan], [1.0]]), 'columns')])
def test_other_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize('search', ('default', 'paper'))
@pytest.mark.parametrize('vectors, n_clusters, dimensions', [
    (np.ones((6, 1)), 2, {0.0, 1.0}),
    (np.ones((10, 5)), 3, {0.0, 1.0}),
    (np.zeros((10, 5)), 2, {0.0}),
    (np.repeat(np.eye(4), 5, axis=0), 4, None),
    (GOOD, 1, None),
    (GOOD, 12, None),
    (GOOD[:1], 1, {1.0}),
    (GOOD * 1e150, 2, None),
    (GOOD * 1e-150, 2, None),
    (np.vstack([GOOD, 1e8 * GOOD]), 2, None),
    (GOOD.astype(np.float32), 2, None),
    (np.arange(20).reshape(10, 2), 2, None)])
def test_unusual_data_have_a_result(search, vectors, n_clusters, dimensions):
    """D = 1, equal points, zeros, duplicates, K = 1, K = N, N = 1, huge, tiny, mixed, integers."""
    for outliers in ('classic', 'naive', 'known-fraction', 'model-reassign'):
        config = GdmConfig(n1=3, n2=5, n3=3, search=search, outliers=outliers)
        with np.errstate(all='raise', under='ignore'):
            result = minimize_global_dimension(vectors, n_clusters, config, rng=0)
        assert result.labels.shape == (len(vectors),)
        assert result.labels.min() >= -1 and result.labels.max() < n_clusters
        assert np.isfinite(result.global_dimension) and np.isfinite(result.dimensions).all()
        assert np.isfinite(result.memberships).all()
        if dimensions is not None and outliers == 'classic':
            assert set(result.dimensions.round(9)) <= dimensions


def test_a_cluster_that_starts_empty_may_stay_empty():
    result = minimize_global_dimension(np.ones((8, 3)), 2, GdmConfig(n1=0),
                                       starts=np.zeros((1, 8), int))
    assert result.global_dimension == pytest.approx(1.0)
    assert sorted(result.dimensions.round(9)) == [0.0, 1.0]
