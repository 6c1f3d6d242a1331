# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Homographies x2 ~ H x1 in pixels: fit, refine, measure."""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry import _projective
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.fundamental import checked_points, checked_weights

MIN_POINTS = 4
"""Points that a homography needs, no three of them on a line."""


def fit_homography(x1: FloatArray, x2: FloatArray,
                   weights: npt.ArrayLike | None = None) -> FloatArray:
    """
    Fit H by the weighted normalised direct linear transform.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels, N >= 4.
    weights : (N,) array, optional
        Non-negative; all equal by default.

    Returns
    -------
    (3, 3) array
        Divided by its last entry where that is not near zero, else at unit norm. Finite for
        finite points, even where they do not determine it.

    """
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    w = checked_weights(weights, len(a1))
    return normalize_homography(_projective.direct_linear(a1, a2, w))


def refine_homography(homography: FloatArray, x1: FloatArray, x2: FloatArray,
                      weights: npt.ArrayLike | None = None, loss_px: float = 0.0,
                      iterations: int = 30, tolerance: float = 1e-9) -> FloatArray:
    """
    Minimise the (robust) sum of squared :func:`homography_distances` over all H.

    Parameters
    ----------
    homography : (3, 3) array
        Where to start.
    x1, x2 : (N, 2) arrays
        Pixels, N >= 4.
    weights : (N,) array, optional
        Non-negative; all equal by default.
    loss_px : float
        Scale of the Cauchy loss in pixels; 0 for least squares.
    iterations : int
        Largest number of Levenberg-Marquardt steps.
    tolerance : float
        Relative decrease of the cost that ends the search.

    Returns
    -------
    (3, 3) array
        With a cost no higher than that of the start.

    """
    h = np.ascontiguousarray(homography, np.float64)
    if h.shape != (3, 3):
        raise InputError(f'homography must have the shape (3, 3), got {h.shape}')
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    w = checked_weights(weights, len(a1))
    refined = _projective.refine(h, a1, a2, w, float(loss_px), iterations, tolerance)
    return normalize_homography(refined)


def homography_distances(homography: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    First-order (Sampson) distances of correspondences from a homography.

    Parameters
    ----------
    homography : (3, 3) or (M, 3, 3) array
        One matrix or many.
    x1, x2 : (N, 2) arrays
        Pixels.

    Returns
    -------
    (N,) or (M, N) array
        Pixels. The distance in the space of both points, as the Sampson distance of F is, so
        that the two compare: under noise of standard deviation s their squares are distributed
        as s^2 chi^2 with two degrees of freedom. A point that H sends across the horizon gets a
        very large distance.

    """
    hs = np.ascontiguousarray(homography, np.float64)
    if hs.shape[-2:] != (3, 3) or hs.ndim not in (2, 3):
        raise InputError(f'homography must have the shape (3, 3) or (M, 3, 3), got {hs.shape}')
    a1, a2 = checked_points(x1, x2)
    if hs.ndim == 2:
        return _projective.transfer(hs, a1, a2)
    return np.array([_projective.transfer(h, a1, a2) for h in hs]).reshape(len(hs), len(a1))


def symmetric_transfer_distances(homography: FloatArray, x1: FloatArray,
                                 x2: FloatArray) -> FloatArray:
    """
    Root of the summed squared transfer errors in both images.

    Parameters
    ----------
    homography : (3, 3) array
        Its adjugate stands for the inverse, so that a singular one does no harm.
    x1, x2 : (N, 2) arrays
        Pixels.

    Returns
    -------
    (N,) array
        Pixels; very large for points that go to infinity.

    """
    return np.sqrt(_squared_error(homography, x1, x2)
                   + _squared_error(_adjugate(homography), x2, x1))


def apply_homography(homography: FloatArray, points: FloatArray) -> FloatArray:
    """
    Map points by a homography.

    Parameters
    ----------
    homography : (3, 3) array
        Maps homogeneous points.
    points : (N, 2) array
        To be mapped.

    Returns
    -------
    (N, 2) array
        Very large but finite for points that go to infinity.

    Examples
    --------
    >>> apply_homography(np.array([[1.0, 0, 5], [0, 1, 0], [0, 0, 1]]), np.array([[1.0, 2]]))
    array([[6., 2.]])

    """
    mapped = points @ homography[:, :2].T + homography[:, 2]
    w = mapped[:, 2:]
    least = 1e-12 * float(np.abs(homography).max()) + 1e-300
    return mapped[:, :2] / np.where(np.abs(w) < least, np.where(w < 0.0, -least, least), w)


def normalize_homography(homography: FloatArray) -> FloatArray:
    """
    Divide H by its last entry where that is not near zero, else by its norm.

    Parameters
    ----------
    homography : (3, 3) array
        At any scale.

    Returns
    -------
    (3, 3) array
        The same up to scale.

    """
    norm = float(np.linalg.norm(homography))
    if norm == 0.0:
        return homography
    last = float(homography[2, 2])
    # Pixels make the last column large: "near zero" is relative to the last row.
    row = float(np.abs(homography[2]).max())
    return homography / (last if abs(last) > 1e-9 * row and abs(last) > 1e-30 * norm else norm)


def _adjugate(matrix: FloatArray) -> FloatArray:
    """Multiple of the inverse that exists for every matrix."""
    a, b, c = matrix / max(float(np.abs(matrix).max()), 1e-300)
    return np.column_stack((np.cross(b, c), np.cross(c, a), np.cross(a, b)))


def _squared_error(homography: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    error = np.clip(apply_homography(homography, x1) - x2, -_projective.FAR, _projective.FAR)
    return (error * error).sum(axis=1)
