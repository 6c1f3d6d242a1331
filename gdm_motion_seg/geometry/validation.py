# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of correspondences that come from outside; those of the tracker need none."""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.errors import InputError


def checked_correspondences(x1: npt.ArrayLike, x2: npt.ArrayLike, image_size: tuple[int, int],
                            ids: npt.ArrayLike | None
                            ) -> tuple[FloatArray, FloatArray, tuple[int, int], IntArray]:
    """Return points, image size and ids in their types; InputError names what is wrong."""
    a1, a2 = _points('x1', x1), _points('x2', x2)
    if len(a1) != len(a2):
        raise InputError(f'x1 and x2 must have the same length, got {len(a1)} and {len(a2)}')
    try:
        width, height = (int(s) for s in image_size)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f'image_size must be (width, height), got {image_size!r}') from None
    if width <= 0 or height <= 0:
        raise InputError(f'image_size must be positive, got {width} x {height}')
    identities = np.arange(len(a1)) if ids is None else np.asarray(ids)
    if identities.shape != (len(a1),):
        raise InputError(f'ids must have the shape ({len(a1)},), got {identities.shape}')
    return a1, a2, (width, height), identities.astype(np.int64)


def _points(name: str, points: npt.ArrayLike) -> FloatArray:
    try:
        array = np.ascontiguousarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f'{name} must be an array of numbers') from None
    if array.size == 0:
        array = array.reshape(0, 2)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f'{name} must have the shape (N, 2), got {array.shape}')
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise InputError(f'{name} must be finite, but {name}[{int(bad.argmax())}] is '
                         f'{array[bad.argmax()].tolist()}')
    return array
