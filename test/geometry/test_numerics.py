# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The small solvers, compared with numpy."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from gdm_motion_seg.geometry import numerics

SEEDS = st.integers(0, 2 ** 32 - 1)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_cholesky_solves(seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(7, 9))
    matrix, b = half @ half.T + 0.1 * np.eye(7), rng.normal(size=7)
    x = b.copy()
    assert numerics.solve_inplace(matrix.copy(), x)
    np.testing.assert_allclose(matrix @ x, b, atol=1e-8)
    assert not numerics.solve_inplace(-matrix, x)


@pytest.mark.parametrize('n', [1, 2, 5, 6, 301])
def test_the_median_is_that_of_numpy(n):
    values = np.random.default_rng(n).integers(0, 50, n) * 0.5
    assert numerics.median(values) == np.median(values)
    assert numerics.median(np.zeros(0)) == 0.0
