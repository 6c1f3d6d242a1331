# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The gradient equals that of the objective, in the definitions and in the batched engine."""

from hypothesis import given, settings, strategies
import numpy as np
import pytest

from gdm_motion_seg.gdm import (GdmConfig, global_dimension, global_dimension_gradient, kernels,
                                project_onto_simplex)
from gdm_motion_seg.gdm.descent import descend, gradient_factors, Monomials

CASES = [(k, d, outlier_row) for k in (1, 2, 3, 4) for d in range(2, 13)
         for outlier_row in (False, True)]


def data(seed, ambient, extent=1.0):
    """Draw vectors whose last direction has a given extent (1: as the others)."""
    rng = np.random.default_rng(seed)
    scales = np.ones(ambient)
    scales[-1] = extent
    rotation = np.linalg.qr(rng.normal(size=(ambient, ambient)))[0]
    return (rng.normal(size=(40, ambient)) * scales) @ rotation, rng


def finite_differences(vectors, memberships, epsilon, p, alpha, entries):
    """Differentiate numerically, by central differences with one Richardson step."""
    def value(index, change):
        moved = memberships.copy()
        # The objective is an even function of the memberships, which are never negative.
        moved[index] = abs(moved[index] + change)
        return global_dimension(vectors, moved, epsilon, p, alpha=alpha)

    def central(step, index):
        if alpha is not None and index[0] == 0 and memberships[index] == 0.0:
            return (value(index, step) - value(index, 0.0)) / step
        return (value(index, step) - value(index, -step)) / (2 * step)

    return np.array([(4 * central(5e-4, i) - central(1e-3, i)) / 3 for i in entries])


def assert_equal_to_differences(vectors, memberships, epsilon, p, alpha, rng, entries=None):
    gradient = global_dimension_gradient(vectors, memberships, epsilon, p, alpha=alpha)
    assert gradient.shape == memberships.shape
    if entries is None:
        entries = [(int(rng.integers(len(memberships))), int(rng.integers(len(vectors))))
                   for _ in range(25)]
    numeric = finite_differences(vectors, memberships, epsilon, p, alpha, entries)
    exact = np.array([gradient[i] for i in entries])
    scale = np.linalg.norm(exact)
    assert np.linalg.norm(exact - numeric) <= 1e-6 * scale


@pytest.mark.parametrize('n_clusters, ambient, outlier_row', CASES)
def test_gradient_of_soft_partitions_equals_finite_differences(n_clusters, ambient, outlier_row):
    vectors, rng = data(n_clusters + 10 * ambient, ambient)
    rows = n_clusters + outlier_row
    memberships = rng.dirichlet(np.ones(rows), len(vectors)).T * 0.9 + 0.1 / rows
    alpha = 0.01 if outlier_row else None
    for epsilon in (0.35, 0.8):
        assert_equal_to_differences(vectors, memberships, epsilon, 15.0, alpha, rng)


@pytest.mark.parametrize('n_clusters, ambient, outlier_row', CASES)
def test_gradient_of_hard_partitions_equals_finite_differences(n_clusters, ambient, outlier_row):
    vectors, rng = data(n_clusters + 10 * ambient, ambient)
    labels = np.arange(len(vectors)) % n_clusters
    memberships = (labels == np.arange(n_clusters)[:, None]).astype(float)
    entries = [(int(k), n) for n, k in enumerate(labels)]
    # At a membership of 0 the derivative is 0, because the objective is an even function of it.
    others = [(int(k + 1) % n_clusters, n) for n, k in enumerate(labels)] if n_clusters > 1 else []
    if outlier_row:
        memberships = np.vstack([np.zeros(len(vectors)), memberships])
        entries = [(k + 1, n) for k, n in entries + others] + [(0, 3)]
    else:
        entries = entries + others
    assert_equal_to_differences(vectors, memberships, 0.35, 15.0,
                                0.01 if outlier_row else None, rng, entries)


@pytest.mark.parametrize('extent', (1e-2, 1e-4, 1e-6, 1e-7))
@pytest.mark.parametrize('ambient', (2, 9))
def test_gradient_of_near_singular_clusters_equals_finite_differences(ambient, extent):
    vectors, rng = data(3, ambient, extent)
    memberships = rng.dirichlet(np.ones(3), len(vectors)).T * 0.9 + 0.1 / 3
    assert_equal_to_differences(vectors, memberships, 0.35, 15.0, None, rng)


def test_gradient_within_a_subspace_is_that_of_the_lower_dimension():
    vectors, rng = data(4, 6)
    memberships = rng.dirichlet(np.ones(2), len(vectors)).T
    basis = np.linalg.qr(rng.normal(size=(9, 6)))[0]
    embedded = vectors @ basis.T
    np.testing.assert_allclose(global_dimension_gradient(embedded, memberships),
                               global_dimension_gradient(vectors, memberships), rtol=1e-8)


@pytest.mark.parametrize('epsilon', (0.1, 0.35, 0.7, 1.0))
@pytest.mark.parametrize('extent, tolerance', (
    (1.0, 1e-9), (1e-3, 1e-6), (1e-4, 1e-6), (0.0, 1e-6)))
def test_the_batched_gradient_is_the_same(epsilon, extent, tolerance):
    vectors, rng = data(5, 9, extent)
    batch = np.stack([rng.dirichlet(np.ones(3), len(vectors)).T for _ in range(4)])
    dimensions, factors = gradient_factors(Monomials.of(vectors), batch, epsilon, 15.0)
    for memberships, found, own in zip(batch, factors * batch, dimensions):
        exact = global_dimension_gradient(vectors, memberships, epsilon, 15.0)
        assert np.linalg.norm(found - exact) <= tolerance * np.linalg.norm(exact)
        assert np.linalg.norm(own, 15) == pytest.approx(
            global_dimension(vectors, memberships, epsilon, 15.0), rel=1e-6)


def test_an_empty_cluster_has_no_gradient_and_divides_nothing_by_zero():
    vectors, _ = data(6, 9)
    memberships = np.vstack([np.ones(40), np.zeros(40)])
    gradient = global_dimension_gradient(vectors, memberships)
    assert np.isfinite(gradient).all() and not gradient[1].any()
    _, factors = gradient_factors(Monomials.of(vectors), memberships[None], 0.35, 15.0)
    assert np.isfinite(factors).all()


@pytest.mark.parametrize('price', ('linear', 'quadratic'))
def test_both_prices_of_an_outlier_have_the_gradient_of_their_objective(price):
    vectors, rng = data(7, 5)
    memberships = rng.dirichlet(np.ones(3), 40).T * 0.9 + 0.1 / 3
    gradient = global_dimension_gradient(vectors, memberships, alpha=0.5, price=price)
    for n in (0, 17):
        up, down = memberships.copy(), memberships.copy()
        up[0, n] += 1e-4
        down[0, n] -= 1e-4
        numeric = (global_dimension(vectors, up, alpha=0.5, price=price)
                   - global_dimension(vectors, down, alpha=0.5, price=price)) / 2e-4
        assert gradient[0, n] == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize('price', ('linear', 'quadratic'))
def test_the_descent_steps_along_the_gradient_of_the_price_that_is_set(price):
    vectors, rng = data(8, 5)
    start = rng.dirichlet(np.ones(3), 40).T
    config = GdmConfig(n2=1, alpha=0.5, outlier_price=price)
    end, _ = descend(Monomials.of(vectors), start[None], config, True)
    gradient = global_dimension_gradient(vectors, start, alpha=0.5, price=price)
    longest = np.sort(np.linalg.norm(gradient, axis=0))[-4:]
    expected = project_onto_simplex(start - 0.3 / longest.mean() * gradient)
    np.testing.assert_allclose(end[0], expected, atol=1e-9)


def test_the_price_of_the_paper_s_gradient_is_the_default():
    assert GdmConfig().outlier_price == GdmConfig(search='paper').outlier_price == 'quadratic'


@given(strategies.integers(0, 2 ** 32 - 1), strategies.integers(1, 6))
@settings(deadline=None, max_examples=50)
def test_the_projection_is_the_nearest_probability_vector(seed, rows):
    rng = np.random.default_rng(seed)
    column = rng.normal(size=(rows, 1)) * 3
    projected = project_onto_simplex(column)
    assert projected.min() >= 0 and projected.sum() == pytest.approx(1.0)
    candidates = rng.dirichlet(np.ones(rows), 200).T
    nearest = np.linalg.norm(candidates - column, axis=0).min()
    assert np.linalg.norm(projected - column) <= nearest + 1e-12
    compiled = column[:, 0].copy()
    kernels._project(compiled)
    np.testing.assert_allclose(compiled, projected[:, 0], atol=1e-12)
