# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The small solvers against LAPACK."""

import cv2
from hypothesis import given, settings, strategies as st
import numpy as np

from gdm_motion_seg.geometry import _linalg

SEEDS = st.integers(0, 2 ** 32 - 1)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([3, 7, 9]), st.integers(1, 9))
def test_eigenvalues_and_vectors_agree_with_lapack(seed, n, rank):
    half = np.random.default_rng(seed).normal(size=(n, min(rank, n)))
    matrix = half @ half.T
    values, vectors = _linalg.eigh(matrix)
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-12 * scale)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-12 * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_lowest_eigenvector_of_a_minimal_sample_is_found_at_once(seed):
    rows = np.random.default_rng(seed).normal(size=(8, 9))
    x = _linalg.lowest_eigenvector(rows.T @ rows, 4)
    assert np.abs(rows @ x).max() < 1e-6


def test_the_lowest_eigenvector_of_nothing_is_finite():
    assert np.isfinite(_linalg.lowest_eigenvector(np.zeros((9, 9)), 4)).all()


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(0, 3))
def test_the_singular_value_decomposition_gives_the_matrix_back_with_rotations(seed, rank):
    rng = np.random.default_rng(seed)
    m = rng.normal(size=(3, rank)) @ rng.normal(size=(rank, 3))
    u, s, v = _linalg.svd3(m)
    np.testing.assert_allclose(u @ np.diag(s) @ v.T, m, atol=1e-7)
    for r in (u, v):
        np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-7)
        np.testing.assert_allclose(np.linalg.det(r), 1.0, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_cholesky_solves(seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(7, 9))
    matrix, b = half @ half.T + 0.1 * np.eye(7), rng.normal(size=7)
    factor, x = matrix.copy(), b.copy()
    assert _linalg.cholesky_inplace(factor)
    _linalg.cholesky_solve_inplace(factor, x)
    np.testing.assert_allclose(matrix @ x, b, atol=1e-8)
    assert not _linalg.cholesky_inplace(-matrix)


@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.floats(-3.0, 3.0)] * 3))
def test_rotations_agree_with_rodrigues(w):
    np.testing.assert_allclose(_linalg.rotation_exp(np.array(w)), cv2.Rodrigues(np.array(w))[0],
                               atol=1e-12)
