# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of arguments; each error names the argument and the value."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.errors import InputError


def check_vectors(vectors: npt.ArrayLike, *, allow_empty: bool = False) -> FloatArray:
    """Return the vectors as a finite (N, D) array of float64."""
    try:
        array = np.ascontiguousarray(vectors, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError('vectors must be an array of real numbers with the shape (N, D), got '
                         f'{type(vectors).__name__}') from None
    if allow_empty and array.size == 0:
        return np.zeros((0, array.shape[1] if array.ndim == 2 else 0))
    if array.ndim != 2 or 0 in array.shape:
        raise InputError('vectors must have the shape (N, D) with N and D at least 1, got '
                         f'{array.shape}')
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f'vectors must be finite, but vectors[{row}] is {array[row].tolist()}')
    return array


def check_n_clusters(n_clusters: Any, n_points: int) -> int:
    """Return K, at least 1 and at most the number of points."""
    whole = isinstance(n_clusters, (int, np.integer)) and not isinstance(n_clusters, bool)
    if not whole or n_clusters < 1:
        raise InputError(f'n_clusters must be a whole number of at least 1, got {n_clusters!r}')
    if n_clusters > n_points:
        raise InputError('n_clusters must be at most the number of vectors, got '
                         f'n_clusters={n_clusters} for {n_points} vectors')
    return int(n_clusters)


def check_epsilon(epsilon: Any) -> float:
    """Return epsilon in (0, 1]."""
    return _number('epsilon', epsilon, lambda e: 0.0 < e <= 1.0, 'lie in (0, 1]')


def check_p(p: Any) -> float:
    """Return a positive, finite p."""
    return _number('p', p, lambda v: v > 0.0, 'be positive and finite')


def check_alpha(alpha: Any) -> float:
    """Return a finite price of at least 0."""
    return _number('alpha', alpha, lambda a: a >= 0.0, 'be finite and at least 0')


def check_price(price: Any) -> str:
    """Return the kind of price of an outlier."""
    if price not in ('linear', 'quadratic'):
        raise InputError(f'price must be linear or quadratic, got {price!r}')
    return str(price)


def check_partition(partition: npt.ArrayLike, n_points: int) -> npt.NDArray[Any]:
    """Return (N,) labels of at least -1 or (K, N) memberships of at least 0."""
    array = np.asarray(partition)
    if array.ndim not in (1, 2) or array.shape[-1] != n_points or 0 in array.shape:
        raise InputError(f'partition must have the shape ({n_points},) or (K, {n_points}), got '
                         f'{array.shape}')
    if array.ndim == 1:
        if array.dtype.kind not in 'iu':
            raise InputError('partition must hold whole numbers as labels, got the type '
                             f'{array.dtype}')
        if array.min() < -1:
            raise InputError(f'partition must hold labels of at least -1, got {int(array.min())}')
    elif array.dtype.kind not in 'iufb' or not np.isfinite(array).all() or (array < 0).any():
        raise InputError('partition must hold finite memberships of at least 0')
    return array


def check_starts(starts: npt.ArrayLike, n_clusters: int, n_points: int) -> npt.NDArray[Any]:
    """Return (S, N) labels or (S, K, N) memberships."""
    array = np.asarray(starts)
    if array.dtype.kind not in 'iufb' or not (
            (array.ndim == 2 and array.shape[1] == n_points and array.dtype.kind in 'iu')
            or (array.ndim == 3 and array.shape[1:] == (n_clusters, n_points))):
        raise InputError(f'starts must be (S, {n_points}) labels or (S, {n_clusters}, {n_points}) '
                         f'memberships, got the shape {array.shape} of type {array.dtype}')
    if array.ndim == 2 and array.size and (array.min() < -1 or array.max() >= n_clusters):
        raise InputError(f'starts must hold labels from -1 to {n_clusters - 1}, got '
                         f'{int(array.min())} to {int(array.max())}')
    if array.ndim == 3 and (not np.isfinite(array).all() or (array < 0).any()
                            or (np.abs(array.sum(axis=1) - 1.0) > 1e-6).any()):
        raise InputError('starts must hold memberships of at least 0 that sum to 1 for each point')
    return array


def _number(name: str, value: Any, permitted: Any, wish: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, (bool, str)) or not math.isfinite(number) or not permitted(number):
        raise InputError(f'{name} must {wish}, got {value!r}')
    return number
