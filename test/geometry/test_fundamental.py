# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fundamental matrices: known geometry, other libraries, bad input."""

import cv2
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry import fundamental
from gdm_motion_seg.geometry.fundamental import fit_fundamental_robust, sampson_distances
from gdm_motion_seg_tools.bench.fundamentals import fit_fundamental, refine_fundamental

PIXELS = st.floats(-1e6, 1e6, allow_nan=False, width=64)


def point_sets(low=8, high=30):
    """Draw x1 and x2 of equal length, with coincident and collinear points among them."""
    return st.integers(low, high).flatmap(
        lambda n: st.tuples(arrays(np.float64, (n, 2), elements=PIXELS),
                            arrays(np.float64, (n, 2), elements=PIXELS)))


def rms(distances):
    return float(np.sqrt(np.mean(distances ** 2)))


def same_up_to_sign(a, b, tolerance=1e-6):
    return min(np.abs(a - b).max(), np.abs(a + b).max()) < tolerance


def is_valid(f):
    # With coordinates up to 1e6 the rounding of the smallest singular value is that large.
    s = np.linalg.svd(f, compute_uv=False)
    return bool(np.isfinite(f).all() and abs(np.linalg.norm(f) - 1) < 1e-9 and s[2] < 1e-8)


@pytest.mark.parametrize('seed', range(5))
def test_points_without_noise_give_the_true_matrix(views, seed):
    v = views(seed, noise=0.0)
    linear = fit_fundamental(v.x1, v.x2)
    assert same_up_to_sign(linear, v.fundamental)
    assert same_up_to_sign(refine_fundamental(linear, v.x1, v.x2), v.fundamental)
    assert rms(sampson_distances(linear, v.x1, v.x2)) < 1e-5


def test_eight_points_are_enough(views):
    v = views(3, n=8, noise=0.0)
    assert same_up_to_sign(fit_fundamental(v.x1, v.x2), v.fundamental, 1e-5)


@settings(max_examples=60, deadline=None)
@given(point_sets())
def test_any_finite_points_give_a_matrix_of_rank_two_and_unit_norm(points):
    x1, x2 = points
    f = fit_fundamental(x1, x2)
    assert is_valid(f)
    assert is_valid(refine_fundamental(f, x1, x2, loss_px=1.0, iterations=5))
    assert is_valid(fit_fundamental_robust(x1, x2, 1.0))
    assert np.isfinite(sampson_distances(f, x1, x2)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2 ** 32 - 1), st.integers(8, 40), st.sampled_from([1e9, 0.5, 3.0]),
       st.floats(0.0, 6.0), st.floats(-3.0, 0.0))
def test_refinement_never_raises_its_cost(seed, n, loss, magnitude, zoom):
    rng = np.random.default_rng(seed)
    x1, x2 = 10.0 ** magnitude * rng.uniform(size=(2, n, 2))
    x2 *= 10.0 ** zoom
    start = fit_fundamental(x1, x2)

    def cost(f):
        r2 = sampson_distances(f, x1, x2) ** 2
        return float(np.sum(loss ** 2 * np.log1p(r2 / loss ** 2)))

    before = cost(start)
    after = cost(refine_fundamental(start, x1, x2, loss_px=loss, iterations=10))
    assert after <= before * (1 + 1e-6) + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 10.0), st.floats(-500, 500), st.floats(-500, 500))
def test_sampson_distances_scale_with_the_points_and_ignore_a_shift(seed, scale, dx, dy):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(0, 640, (2, 20, 2))
    f = fit_fundamental(x1, x2)
    to_new = np.array([[scale, 0, dx], [0, scale, dy], [0, 0, 1]])
    back = np.linalg.inv(to_new)
    moved = sampson_distances(back.T @ f @ back, x1 * scale + (dx, dy), x2 * scale + (dx, dy))
    np.testing.assert_allclose(moved, scale * sampson_distances(f, x1, x2), rtol=1e-5, atol=1e-6)


def test_sampson_distances_are_the_first_order_of_the_true_distance(views):
    v = views(1, noise=0.2)
    c1, c2 = cv2.correctMatches(v.fundamental, v.x1[None], v.x2[None])
    true = np.sqrt(((c1[0] - v.x1) ** 2 + (c2[0] - v.x2) ** 2).sum(axis=1))
    np.testing.assert_allclose(sampson_distances(v.fundamental, v.x1, v.x2), true, atol=1e-3)


def test_sampson_distances_have_the_scale_of_the_noise(views):
    v = views(2, n=20000, noise=0.5)
    distances = sampson_distances(v.fundamental, v.x1, v.x2)
    assert rms(distances) == pytest.approx(0.5, rel=0.02)


def test_many_matrices_at_once_give_the_distances_of_each(views):
    v = views(0)
    fs = np.stack([fit_fundamental(v.x1, v.x2), v.fundamental, np.eye(3)])
    together = sampson_distances(fs, v.x1, v.x2)
    assert together.shape == (3, len(v.x1))
    for f, row in zip(fs, together):
        np.testing.assert_array_equal(row, sampson_distances(f, v.x1, v.x2))


def test_the_refined_matrix_is_as_accurate_as_that_of_poselib_and_better_than_opencv(views):
    poselib = pytest.importorskip('poselib', reason='needs poselib')
    ours, theirs, opencv = [], [], []
    for seed in range(40):
        v = views(seed, n=80, noise=0.5)
        start = fit_fundamental(v.x1, v.x2)
        refined = refine_fundamental(start, v.x1, v.x2)
        peer, _ = poselib.refine_fundamental(
            v.x1, v.x2, start, {'loss_type': 'TRIVIAL', 'max_iterations': 100})
        linear = cv2.findFundamentalMat(v.x1, v.x2, cv2.FM_8POINT)[0]
        cost = rms(sampson_distances(refined, v.x1, v.x2))
        assert cost <= rms(sampson_distances(peer, v.x1, v.x2)) * (1 + 1e-4)
        for errors, f in ((ours, refined), (theirs, peer), (opencv, linear)):
            errors.append(rms(sampson_distances(f, v.clean1, v.clean2)))
    assert np.median(ours) <= 1.01 * np.median(theirs)
    assert np.mean(ours) <= 1.01 * np.mean(theirs)
    assert np.median(ours) < np.median(opencv)


def test_the_robust_fit_with_wrong_points_is_nearly_as_accurate_as_without(views):
    clean, dirty = [], []
    for seed in range(30):
        v = views(seed, n=100, noise=0.5)
        x2 = v.x2.copy()
        x2[:10] = np.random.default_rng(seed).uniform(0, 480, (10, 2))
        clean.append(rms(sampson_distances(
            refine_fundamental(fit_fundamental(v.x1, v.x2), v.x1, v.x2), v.clean1, v.clean2)))
        dirty.append(rms(sampson_distances(
            fit_fundamental_robust(v.x1, x2, 1.0), v.clean1, v.clean2)))
    assert np.median(dirty) < 1.2 * np.median(clean)


def same(n):
    return np.full((n, 2), 7.0)


def line(n):
    return np.column_stack((np.arange(n, dtype=float), 2.0 * np.arange(n)))


@pytest.mark.parametrize('x1, x2', [
    (same(10), same(10)), (line(12), line(12) + 1), (line(12), same(12)),
    (np.repeat(line(3), 4, axis=0), np.repeat(line(3), 4, axis=0)),
    (1e6 * line(9), 1e6 * line(9)[::-1]), (np.zeros((8, 2)), np.zeros((8, 2)))])
def test_degenerate_points_give_finite_answers(x1, x2):
    f = fit_fundamental(x1, x2)
    assert is_valid(f)
    assert is_valid(fit_fundamental_robust(x1, x2, 1.0))
    assert np.isfinite(sampson_distances(f, x1, x2)).all()


@pytest.mark.parametrize('loss2', [1e18, 0.04])
def test_gradient_of_the_sampson_cost_agrees_with_finite_differences(views, loss2):
    v = views(4, n=12, noise=2.0)
    points = np.concatenate((v.x1.T, v.x2.T)) / 300 - 1
    rng = np.random.default_rng(0)
    f, w = rng.normal(size=(3, 3)), rng.uniform(size=12)
    jtj, jtr = np.empty((9, 9)), np.empty(9)

    def cost(at):
        return fundamental._normal_equations(at, points, w, loss2, np.empty((9, 9)), np.empty(9))

    fundamental._normal_equations(f, points, w, loss2, jtj, jtr)
    h = 1e-6
    numeric = [(cost(f + h * e) - cost(f - h * e)) / (4 * h)
               for e in np.eye(9).reshape(9, 3, 3)]
    np.testing.assert_allclose(jtr, numeric, rtol=1e-5, atol=1e-8)
    assert (np.linalg.eigvalsh(jtj, UPLO='L') > -1e-9).all()


def test_points_of_weight_zero_have_no_effect(views):
    v = views(0, noise=0.0)
    x2 = v.x2.copy()
    x2[:20] += 50.0
    weights = np.ones(len(x2))
    weights[:20] = 0.0
    start = fit_fundamental(v.x1[20:] + 0.3, x2[20:])
    assert same_up_to_sign(refine_fundamental(start, v.x1, x2, weights), v.fundamental)


def test_wrong_shapes_are_named():
    x = np.zeros((10, 2))
    with pytest.raises(InputError, match='same shape'):
        fit_fundamental(x, x[:9])
    with pytest.raises(InputError, match='at least 8 points'):
        fit_fundamental(x[:7], x[:7])
    with pytest.raises(InputError, match='fundamental must have the shape'):
        sampson_distances(np.zeros(9), x, x)
