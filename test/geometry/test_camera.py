# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Undistortion, compared with projections by OpenCV, and invalid camera_info."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera

K = np.array([[500.0, 0, 320], [0, 510, 240], [0, 0, 1]])
PLUMB_BOB = [-0.3, 0.12, 0.001, -0.0005, -0.02]
RATIONAL = [0.2, -0.1, 0.0005, 0.0002, 0.01, 0.4, -0.15, 0.02]
EQUIDISTANT = [-0.02, 0.005, -0.003, 0.0005]


def rays(n=200, reach=0.6):
    xy = np.random.default_rng(0).uniform(-reach, reach, (n, 2))
    return np.column_stack((xy, np.ones(n)))


@pytest.mark.parametrize('model, d', [('plumb_bob', PLUMB_BOB), ('plumb_bob', PLUMB_BOB[:4]),
                                      ('rational_polynomial', RATIONAL)])
def test_pinhole_rays_are_recovered_from_their_distorted_pixels(model, d):
    true = rays()
    pixels = cv2.projectPoints(true, np.zeros(3), np.zeros(3), K, np.array(d))[0].reshape(-1, 2)
    camera = Camera.from_info(K.ravel(), d, model, (640, 480))
    assert camera.is_distorted
    np.testing.assert_allclose(camera.rays(pixels), true, atol=1e-6)
    np.testing.assert_allclose(camera.undistort(pixels), (true @ K.T)[:, :2], atol=1e-3)


@pytest.mark.parametrize('model', ['equidistant', 'fisheye'])
def test_fisheye_rays_are_recovered_from_their_distorted_pixels(model):
    true = rays(reach=2.0)
    pixels = cv2.fisheye.distortPoints(true[:, None, :2], K, np.array(EQUIDISTANT)).reshape(-1, 2)
    camera = Camera.from_info(K, EQUIDISTANT, model, (640, 480))
    np.testing.assert_allclose(camera.rays(pixels), true, atol=1e-5)
    np.testing.assert_allclose(camera.undistort(pixels), (true @ K.T)[:, :2], atol=1e-2)


def test_pixels_that_no_ray_projects_to_are_nan():
    camera = Camera.from_info(K, EQUIDISTANT, 'equidistant', (640, 480))
    found = camera.undistort([[320.0, 240.0], [1e5, 1e5]])
    np.testing.assert_allclose(found[0], (320.0, 240.0), atol=1e-6)
    assert np.isnan(found[1]).all()
    pinhole = Camera.from_info(K, PLUMB_BOB, 'plumb_bob', (640, 480))
    assert np.isnan(pinhole.rays([[1e5, -1e5]])).all()


@pytest.mark.parametrize('model, d', [('', []), ('plumb_bob', []), ('plumb_bob', [0.0] * 5),
                                      ('made_up', [0.0] * 3)])
def test_without_coefficients_nothing_is_distorted(model, d):
    camera = Camera.from_info(K, d, model, (640, 480))
    points = np.random.default_rng(0).uniform(0, 640, (5, 2))
    assert not camera.is_distorted
    np.testing.assert_array_equal(camera.undistort(points), points)
    np.testing.assert_allclose(camera.rays(points) @ K.T, np.column_stack((points, np.ones(5))))


@pytest.mark.parametrize('k, d, model, message', [
    (np.zeros(9), [], 'plumb_bob', 'not calibrated'),
    ([500, 0, 320, 0, 500, np.nan, 0, 0, 1], [], '', 'K must be finite'),
    ([500, 0, 320, 0, 500, 240], [], '', 'K must have 9 entries'),
    ([-500, 0, 320, 0, 500, 240, 0, 0, 1], [], '', 'focal lengths of K must be positive'),
    ([500, 0, 320, 0, 500, 240, 0, 0, 0], [], '', 'upper triangular'),
    (K, [np.inf, 0, 0, 0], 'plumb_bob', 'D must be finite'),
    (K, [0.1, 0, 0], 'plumb_bob', 'must have 4 or 5 coefficients, got 3'),
    (K, [0.1] * 5, 'equidistant', 'must have 4 coefficients, got 5'),
    (K, [0.1] * 4, 'made_up', 'distortion_model must be one of'),
    ('abc', [], '', 'K must be numbers')])
def test_invalid_camera_info_is_refused_with_one_sentence(k, d, model, message):
    with pytest.raises(InputError, match=message):
        Camera.from_info(k, d, model, (640, 480))


def test_an_image_without_size_is_refused():
    with pytest.raises(InputError, match='image_size must be positive'):
        Camera.guess((0, 480))


def test_points_of_a_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r'points must have the shape \(N, 2\)'):
        Camera.guess((640, 480)).rays([1.0, 2.0])


def test_no_points_give_no_points():
    camera = Camera.from_info(K, PLUMB_BOB, 'plumb_bob', (640, 480))
    assert camera.undistort(np.zeros((0, 2))).shape == (0, 2)


def test_the_guessed_focal_length_is_1_2_times_the_longer_side():
    for size in ((640, 480), (480, 640)):
        camera = Camera.guess(size)
        assert camera.is_guess
        assert camera.matrix[0, 0] == camera.matrix[1, 1] == 768.0
        assert camera.matrix[:2, 2].tolist() == [size[0] / 2, size[1] / 2]
