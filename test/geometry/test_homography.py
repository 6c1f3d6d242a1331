# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Homographies against known geometry, OpenCV and bad input."""

import cv2
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry import (
    apply_homography, fit_homography, homography_distances, refine_homography,
    symmetric_transfer_distances)

PIXELS = st.floats(-1e6, 1e6, allow_nan=False, width=64)
TILT = np.array([[1.1, 0.02, 12.0], [-0.03, 0.95, -7.0], [1e-4, -5e-5, 1.0]])


def grid(n=60, seed=0):
    return np.random.default_rng(seed).uniform((0, 0), (640, 480), (n, 2))


def rms(distances):
    return float(np.sqrt(np.mean(distances ** 2)))


def test_points_without_noise_give_back_the_true_homography():
    x1 = grid()
    x2 = apply_homography(TILT, x1)
    np.testing.assert_allclose(fit_homography(x1, x2), TILT, atol=1e-5)
    np.testing.assert_allclose(refine_homography(fit_homography(x1, x2), x1, x2), TILT, atol=1e-5)
    assert rms(homography_distances(TILT, x1, x2)) < 1e-9


def test_refined_homography_is_as_near_to_the_truth_as_that_of_opencv():
    ours, theirs = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x1 = grid(40, seed)
        x2 = apply_homography(TILT, x1)
        n1, n2 = x1 + rng.normal(0, 0.7, x1.shape), x2 + rng.normal(0, 0.7, x2.shape)
        h = refine_homography(fit_homography(n1, n2), n1, n2)
        peer = cv2.findHomography(n1, n2, 0)[0]
        assert rms(homography_distances(h, n1, n2)) <= rms(
            homography_distances(peer, n1, n2)) * (1 + 1e-6)
        ours.append(rms(homography_distances(h, x1, x2)))
        theirs.append(rms(homography_distances(peer, x1, x2)))
    assert np.median(ours) <= 1.01 * np.median(theirs)


def test_distances_have_the_scale_of_the_noise():
    rng = np.random.default_rng(0)
    x1 = grid(20000)
    x2 = apply_homography(TILT, x1)
    distances = homography_distances(TILT, x1 + rng.normal(0, 0.5, x1.shape),
                                     x2 + rng.normal(0, 0.5, x2.shape))
    assert rms(distances) == pytest.approx(0.5 * np.sqrt(2), rel=0.02)


def test_wrong_points_do_not_move_a_robust_refinement():
    x1 = grid(60)
    x2 = apply_homography(TILT, x1)
    x2[:8] += 20.0
    h = refine_homography(fit_homography(x1, x2), x1, x2, loss_px=1.0)
    assert np.abs(apply_homography(h, x1[8:]) - x2[8:]).max() < 0.1


def test_many_homographies_at_once_give_the_distances_of_each():
    x1 = grid()
    x2 = apply_homography(TILT, x1)
    both = homography_distances(np.stack([TILT, np.eye(3)]), x1, x2)
    np.testing.assert_array_equal(both[1], homography_distances(np.eye(3), x1, x2))


def test_symmetric_distances_sum_both_images():
    x1 = grid(10)
    shift = np.array([[1.0, 0, 3], [0, 1, 4], [0, 0, 1]])
    np.testing.assert_allclose(symmetric_transfer_distances(shift, x1, x1), np.sqrt(2) * 5.0)
    assert np.isfinite(symmetric_transfer_distances(np.zeros((3, 3)), x1, x1)).all()


def test_points_beyond_the_horizon_are_far():
    h = np.array([[1.0, 0, 0], [0, 1, 0], [0, -1 / 100, 1]])
    x1 = np.array([[0.0, 10], [0, 20], [0, 30], [0, 100], [0, 200]])
    distances = homography_distances(h, x1, apply_homography(h, x1))
    assert distances[:3].max() < 1e-9
    assert distances[3:].min() > 1e6
    assert np.isfinite(apply_homography(h, x1)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 20).flatmap(
    lambda n: st.tuples(arrays(np.float64, (n, 2), elements=PIXELS),
                        arrays(np.float64, (n, 2), elements=PIXELS))))
def test_any_finite_points_give_finite_answers(points):
    x1, x2 = points
    h = fit_homography(x1, x2)
    refined = refine_homography(h, x1, x2, loss_px=1.0, iterations=5)
    for matrix in (h, refined):
        assert np.isfinite(matrix).all()
        assert np.isfinite(homography_distances(matrix, x1, x2)).all()
        assert np.isfinite(symmetric_transfer_distances(matrix, x1, x2)).all()


def test_wrong_shapes_are_named():
    x = np.zeros((5, 2))
    with pytest.raises(InputError, match='at least 4 points'):
        fit_homography(x[:3], x[:3])
    with pytest.raises(InputError, match='homography must have the shape'):
        homography_distances(np.zeros(9), x, x)
    with pytest.raises(InputError, match='homography must have the shape'):
        refine_homography(np.zeros(9), x, x)
