# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Homographies: known geometry and bad input."""

import cv2
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.homography import fit_homography, homography_distances

PIXELS = st.floats(-1e6, 1e6, allow_nan=False, width=64)
TILT = np.array([[1.1, 0.02, 12.0], [-0.03, 0.95, -7.0], [1e-4, -5e-5, 1.0]])


def apply_homography(h, points):
    return cv2.perspectiveTransform(points[None], h)[0]


def grid(n=60, seed=0):
    return np.random.default_rng(seed).uniform((0, 0), (640, 480), (n, 2))


def rms(distances):
    return float(np.sqrt(np.mean(distances ** 2)))


def test_points_without_noise_give_the_true_homography():
    x1 = grid()
    x2 = apply_homography(TILT, x1)
    np.testing.assert_allclose(fit_homography(x1, x2, 1.0), TILT, atol=1e-4)
    assert rms(homography_distances(TILT, x1, x2)) < 1e-9


def test_the_fit_with_wrong_points_is_close_to_least_squares_on_the_right_ones():
    ours, reference = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x1 = grid(60, seed)
        x2 = apply_homography(TILT, x1)
        n1, n2 = x1 + rng.normal(0, 0.7, x1.shape), x2 + rng.normal(0, 0.7, x2.shape)
        n2[:8] += 20.0
        ours.append(rms(homography_distances(fit_homography(n1, n2, 2.1), x1, x2)))
        peer = cv2.findHomography(n1[8:], n2[8:], 0)[0]
        reference.append(rms(homography_distances(peer, x1, x2)))
    assert np.median(ours) <= 1.2 * np.median(reference)


def test_distances_have_the_scale_of_the_noise():
    rng = np.random.default_rng(0)
    x1 = grid(20000)
    x2 = apply_homography(TILT, x1)
    distances = homography_distances(TILT, x1 + rng.normal(0, 0.5, x1.shape),
                                     x2 + rng.normal(0, 0.5, x2.shape))
    assert rms(distances) == pytest.approx(0.5 * np.sqrt(2), rel=0.02)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_points_beyond_the_horizon_have_a_large_distance(sign):
    h = np.array([[1.0, 0, 0], [0, 1, 0], [0, -1 / 100, 1]])
    x1 = np.array([[0.0, 10], [0, 20], [0, 30], [0, 100], [0, 200]])
    distances = homography_distances(sign * h, x1, apply_homography(h, x1))
    assert distances[:3].max() < 1e-9
    assert distances[3:].min() > 1e6


def test_points_on_a_line_get_a_homography_that_maps_them():
    s = np.sort(np.random.default_rng(0).uniform(0, 400, 60))
    x1, x2 = np.column_stack((s, 0.5 * s)), np.column_stack((1.3 * s + 20, 0.65 * s))
    assert np.abs(apply_homography(fit_homography(x1, x2, 1.0), x1) - x2).max() < 1e-3


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 20).flatmap(
    lambda n: st.tuples(arrays(np.float64, (n, 2), elements=PIXELS),
                        arrays(np.float64, (n, 2), elements=PIXELS))))
def test_any_finite_points_give_finite_answers(points):
    h = fit_homography(*points, 1.0)
    assert np.isfinite(h).all()
    assert np.isfinite(homography_distances(h, *points)).all()


def test_too_few_points_are_named():
    with pytest.raises(InputError, match='at least 4 points'):
        fit_homography(np.zeros((3, 2)), np.zeros((3, 2)), 1.0)
