# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Internal kernels: eigenproblems and the screening of moves."""

from hypothesis import given, settings, strategies
import numpy as np
import pytest

from gdm_motion_seg.gdm import empirical_dimension
from gdm_motion_seg.gdm.eigen import eigensystem
from gdm_motion_seg.gdm.eigenvalues import eigenvalues
from gdm_motion_seg.gdm.kernels import (least_after_joining, least_after_leaving, new_screen,
                                        prepare_screen, SCREEN_MARGIN)

SEEDS = strategies.integers(0, 2 ** 32 - 1)


def gram(seed):
    """Draw a Gram matrix: full, deficient, diagonal, graded or zero."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 13))
    vectors = rng.normal(size=(int(rng.integers(0, 2 * d)), d)) * 10.0 ** rng.uniform(-4, 4, d)
    matrix = vectors.T @ vectors
    return np.diag(np.diag(matrix)) if rng.random() < 0.2 else matrix


@given(SEEDS)
@settings(deadline=None, max_examples=150)
def test_eigenvalues_are_those_of_lapack(seed):
    matrix = gram(seed)
    d = len(matrix)
    values, off, work = np.empty(d), np.empty(d), np.empty((d, d))
    eigenvalues(matrix, work, values, off)
    expected = np.linalg.eigvalsh(matrix)
    np.testing.assert_allclose(np.sort(values), expected, atol=1e-13 * (expected[-1] + 1e-300))


@given(SEEDS)
@settings(deadline=None, max_examples=150)
def test_eigenvectors_are_orthonormal_and_rebuild_the_matrix(seed):
    matrix = gram(seed)
    d = len(matrix)
    values, off, axes = np.empty(d), np.empty(d), np.empty((d, d))
    eigensystem(matrix, axes, values, off)
    np.testing.assert_allclose(axes @ axes.T, np.eye(d), atol=1e-13)
    np.testing.assert_allclose(axes.T @ np.diag(values) @ axes, matrix,
                               atol=1e-13 * (np.abs(matrix).max() + 1e-300))


@pytest.mark.parametrize('epsilon', (0.05, 0.2, 0.35, 0.5, 0.65))
@pytest.mark.parametrize('noise', (1e-5, 1e-3, 0.02, 0.3))
def test_the_screening_predicts_the_effect_of_adding_or_removing_a_point(draw, epsilon, noise):
    vectors, labels = draw.hybrid(0, (6, 7), 40, noise=noise)
    squares = np.empty(9)
    for mixed in (False, True):
        members = np.arange(80) % 2 == 0 if mixed else labels == 0
        screen = new_screen(9)
        prepare_screen(vectors[members].T @ vectors[members], epsilon, screen)
        for n in np.flatnonzero(members)[::4]:
            left = empirical_dimension(vectors[members & (np.arange(80) != n)], epsilon)
            assert least_after_leaving(vectors[n], epsilon, screen, squares) <= left * (1 + 1e-9)
        for n in np.flatnonzero(~members)[::4]:
            joined = empirical_dimension(vectors[members | (np.arange(80) == n)], epsilon)
            found = least_after_joining(vectors[n], epsilon, screen, squares)
            assert joined * (1 - 2 * SCREEN_MARGIN) <= found <= joined
