# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Projection onto the probability simplex, the domain of a membership vector."""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.errors import InputError


def project_onto_simplex(columns: npt.ArrayLike) -> FloatArray:
    """
    Replace each column of a (..., K, N) array by the nearest probability vector.

    >>> project_onto_simplex([[0.5, 2.0], [0.5, 0.0], [0.5, 0.0]]).round(3).tolist()
    [[0.333, 1.0], [0.333, 0.0], [0.333, 0.0]]
    """
    array = np.asarray(columns, dtype=np.float64)
    if array.ndim < 2 or array.shape[-2] < 1 or not np.isfinite(array).all():
        raise InputError('columns must be a finite array with the shape (..., K, N), got '
                         f'{array.shape}')
    descending = -np.sort(-array, axis=-2)
    excess = np.cumsum(descending, axis=-2) - 1.0
    counts = np.arange(1, array.shape[-2] + 1)[:, None]
    support = (descending * counts > excess).sum(axis=-2, keepdims=True)
    shift = np.take_along_axis(excess, support - 1, axis=-2) / support
    return np.asarray(np.maximum(array - shift, 0.0))
