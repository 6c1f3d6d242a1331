# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Correspondences are validated when they are made."""

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import Correspondences

X = np.arange(6.0).reshape(3, 2)
NOT_A_NUMBER = np.array([[0, 0], [1, np.nan], [2, 2]])


@pytest.mark.parametrize('x1, x2, size, ids, message', [
    (X, X[:2], (640, 480), None, 'same length, got 3 and 2'),
    (X.ravel(), X, (640, 480), None, r'x1 must have the shape \(N, 2\)'),
    (X, np.ones((3, 3)), (640, 480), None, r'x2 must have the shape \(N, 2\)'),
    (X, NOT_A_NUMBER, (640, 480), None, r'x2 must be finite, but x2\[1\] is'),
    (X, np.full((3, 2), np.inf), (640, 480), None, 'x2 must be finite'),
    ('abc', X, (640, 480), None, 'x1 must be an array of numbers'),
    (X, X, (0, 480), None, 'image_size must be positive'),
    (X, X, 640, None, r'image_size must be \(width, height\)'),
    (X, X, (640, 480), [1, 2], r'ids must have the shape \(3,\)')])
def test_invalid_arrays_are_refused_by_name(x1, x2, size, ids, message):
    with pytest.raises(InputError, match=message):
        Correspondences.from_arrays(x1, x2, size, ids)


def test_points_can_be_taken_by_index_and_by_mask():
    c = Correspondences.from_arrays(X, X + 1, (640, 480), [7, 8, 9])
    assert c.take(np.array([2, 0])).ids.tolist() == [9, 7]
    assert len(c.take(c.ids > 7)) == 2


def test_no_points_and_points_outside_the_image_are_allowed():
    assert len(Correspondences.from_arrays([], [], (640, 480))) == 0
    assert len(Correspondences.from_arrays(X - 1000, X + 1000, (640, 480))) == 3


def test_any_float_type_becomes_float64():
    c = Correspondences.from_arrays(X.astype(np.float32), X.astype(int), (640, 480))
    assert c.x1.dtype == c.x2.dtype == np.float64
