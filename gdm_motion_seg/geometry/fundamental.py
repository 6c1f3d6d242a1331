# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Fundamental matrices: fit, refine, measure.

Everywhere x2^T F x1 = 0 with F in pixels, of rank two and unit Frobenius norm, and distances are
Sampson distances in pixels.
"""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry import _epipolar, _selection
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import kronecker_embedding
from gdm_motion_seg.geometry.normalization import pixel_unit

MIN_POINTS = 8
"""Points that a linear fit of F needs."""
_LOWER = np.tril_indices(9)


def fit_fundamental(x1: FloatArray, x2: FloatArray,
                    weights: npt.ArrayLike | None = None) -> FloatArray:
    """
    Fit F by the weighted normalised eight-point algorithm.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels, N >= 8.
    weights : (N,) array, optional
        Non-negative; all equal by default.

    Returns
    -------
    (3, 3) array
        Rank two, unit Frobenius norm. Finite for finite points, even where the points (all equal,
        on a line, on a plane) do not determine it; then it is one of many.

    References
    ----------
    Hartley, In defence of the eight-point algorithm, PAMI 1997.

    """
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    return _epipolar.eight_point(a1, a2, checked_weights(weights, len(a1)))


def fit_fundamentals(x1: FloatArray, x2: FloatArray, weights: FloatArray,
                     iterations: int = 6) -> FloatArray:
    """
    Fit one F for each row of weights, all in one batch.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels.
    weights : (H, N) array
        Non-negative.
    iterations : int
        Inverse iterations for each eigenvector; exact enough for hypotheses at 6.

    Returns
    -------
    (H, 3, 3) array
        As :func:`fit_fundamental`.

    Notes
    -----
    The moments sum w v v^T of all rows are one matrix product with the 45 products of the entries
    of v; Hartley's normalisation is applied inside the moments.

    """
    a1, a2 = checked_points(x1, x2)
    w = np.asarray(weights, np.float64)
    if w.ndim != 2 or w.shape[1] != len(a1):
        raise InputError(f'weights must have the shape (H, {len(a1)}), got {w.shape}')
    if not len(a1):
        return np.zeros((len(w), 3, 3))
    # One common transform first: moments of raw pixels would lose half of the digits.
    centre = 0.5 * (a1.mean(axis=0) + a2.mean(axis=0))
    scale = 1.0 / max(float(np.abs(a1 - centre).max()), float(np.abs(a2 - centre).max()), 1e-12)
    v = kronecker_embedding((a1 - centre) * scale, (a2 - centre) * scale)
    monomials = v[:, _LOWER[0]] * v[:, _LOWER[1]]
    packed = w @ monomials
    moments = np.empty((len(w), 9, 9))
    moments[:, _LOWER[0], _LOWER[1]] = packed
    moments[:, _LOWER[1], _LOWER[0]] = packed
    fs = _epipolar.eight_point_moments(moments, iterations)
    transform = np.array([[scale, 0.0, -scale * centre[0]], [0.0, scale, -scale * centre[1]],
                          [0.0, 0.0, 1.0]])
    return unit_norm(transform.T @ fs @ transform)


def fit_fundamental_samples(x1: FloatArray, x2: FloatArray, samples: IntArray,
                            iterations: int = 4) -> FloatArray:
    """
    Fit one F for each row of point indices: the hypotheses of a sampling method.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels.
    samples : (H, M) array of int
        M >= 8 indices a row.
    iterations : int
        Inverse iterations for each eigenvector.

    Returns
    -------
    (H, 3, 3) array
        As :func:`fit_fundamental`; a few microseconds each.

    """
    a1, a2 = checked_points(x1, x2)
    index = np.ascontiguousarray(samples, np.int64)
    if index.ndim != 2 or index.shape[1] < MIN_POINTS:
        raise InputError(f'samples must have the shape (H, at least {MIN_POINTS}), '
                         f'got {index.shape}')
    if index.size and (index.min() < 0 or index.max() >= len(a1)):
        raise InputError(f'samples must be indices below {len(a1)}, '
                         f'got {index.min()} to {index.max()}')
    return _epipolar.eight_point_samples(a1, a2, index, iterations)


def fit_fundamental_robust(x1: FloatArray, x2: FloatArray,
                           image_size: tuple[int, int]) -> FloatArray:
    """
    Fit F to the points of one motion, of which a few may be wrong.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels, N >= 8.
    image_size : (width, height)
        Pixels; sets the scale of the noise that is expected.

    Returns
    -------
    (3, 3) array
        Eight-point fit, refined on the Sampson distance under a Cauchy loss whose scale follows
        the residuals, then by least squares on the inliers.

    """
    a1, a2 = checked_points(x1, x2, MIN_POINTS)
    return _selection.robust_fundamental(a1, a2, pixel_unit(image_size))


def refine_fundamental(fundamental: FloatArray, x1: FloatArray, x2: FloatArray,
                       weights: npt.ArrayLike | None = None, loss_px: float = 0.0,
                       iterations: int = 50, tolerance: float = 1e-9) -> FloatArray:
    """
    Minimise the (robust) sum of squared Sampson distances over all F of rank two.

    Parameters
    ----------
    fundamental : (3, 3) array
        Where to start.
    x1, x2 : (N, 2) arrays
        Pixels, N >= 7.
    weights : (N,) array, optional
        Non-negative; all equal by default.
    loss_px : float
        Scale c of the Cauchy loss c^2 log(1 + r^2 / c^2) in pixels; 0 for least squares.
    iterations : int
        Largest number of Levenberg-Marquardt steps.
    tolerance : float
        Relative decrease of the cost that ends the search.

    Returns
    -------
    (3, 3) array
        Rank two, unit Frobenius norm, and a cost no higher than that of the start (of its part
        of rank two).

    Notes
    -----
    F = U diag(cos t, sin t, 0) V^T with U, V in SO(3): seven parameters, rank and norm hold by
    construction (Bartoli and Sturm, PAMI 2004). The derivatives are analytic.

    """
    f = np.ascontiguousarray(fundamental, np.float64)
    if f.shape != (3, 3):
        raise InputError(f'fundamental must have the shape (3, 3), got {f.shape}')
    a1, a2 = checked_points(x1, x2, 7)
    w = checked_weights(weights, len(a1))
    return _epipolar.refine_rank_two(f, a1, a2, w, float(loss_px), iterations, tolerance)


def sampson_distances(fundamental: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Sampson distances, the first-order distances of correspondences from the epipolar geometry.

    Parameters
    ----------
    fundamental : (3, 3) or (H, 3, 3) array
        One matrix or many.
    x1, x2 : (N, 2) arrays
        Pixels.

    Returns
    -------
    (N,) or (H, N) array
        Pixels, non-negative. With independent noise of standard deviation s in all four
        coordinates they are distributed as the absolute value of s N(0, 1).

    Examples
    --------
    A camera that moves to the right sees points move along rows:

    >>> f = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    >>> sampson_distances(f, np.array([[10.0, 5.0]]), np.array([[4.0, 5.0]]))
    array([0.])

    """
    fs = np.ascontiguousarray(fundamental, np.float64)
    a1, a2 = checked_points(x1, x2)
    if fs.shape[-2:] != (3, 3) or fs.ndim not in (2, 3):
        raise InputError(f'fundamental must have the shape (3, 3) or (H, 3, 3), got {fs.shape}')
    kernel = _epipolar.sampson if fs.ndim == 2 else _epipolar.sampson_many
    return kernel(fs, a1, a2)


def epipoles(fundamental: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Epipoles of F: where each camera sees the other one's centre.

    Parameters
    ----------
    fundamental : (..., 3, 3) array
        One matrix or many.

    Returns
    -------
    e1, e2 : (..., 3) arrays
        Homogeneous pixels of unit norm with F e1 = 0 and F^T e2 = 0; the last entry is 0 for an
        epipole at infinity.

    """
    u, _, vt = np.linalg.svd(fundamental)
    return vt[..., 2, :], u[..., :, 2]


def unit_norm(matrices: FloatArray) -> FloatArray:
    """
    Scale matrices to unit Frobenius norm; zero matrices stay.

    Parameters
    ----------
    matrices : (..., 3, 3) array
        Any.

    Returns
    -------
    (..., 3, 3) array
        The same up to scale.

    """
    norm = np.linalg.norm(matrices, axis=(-2, -1), keepdims=True)
    return matrices / np.where(norm > 0.0, norm, 1.0)


def checked_points(x1: FloatArray, x2: FloatArray,
                   least: int = 0) -> tuple[FloatArray, FloatArray]:
    """
    Points as the kernels want them.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels.
    least : int
        Smallest N allowed.

    Returns
    -------
    x1, x2 : (N, 2) arrays
        Contiguous, float64.

    Raises
    ------
    InputError
        If the shapes do not match or there are too few points.

    """
    a1 = np.ascontiguousarray(x1, np.float64)
    a2 = np.ascontiguousarray(x2, np.float64)
    if a1.ndim != 2 or a1.shape[1] != 2 or a1.shape != a2.shape:
        raise InputError(f'x1 and x2 must have the same shape (N, 2), got {a1.shape} and '
                         f'{a2.shape}')
    if len(a1) < least:
        raise InputError(f'at least {least} points are needed, got {len(a1)}')
    return a1, a2


def checked_weights(weights: npt.ArrayLike | None, n: int) -> FloatArray:
    """
    Weights as the kernels want them.

    Parameters
    ----------
    weights : (N,) array or None
        None for all equal.
    n : int
        Number of points.

    Returns
    -------
    (N,) array
        Contiguous, float64.

    Raises
    ------
    InputError
        If the shape does not match, or a weight is negative or not finite.

    """
    if weights is None:
        return np.ones(n)
    w = np.ascontiguousarray(weights, np.float64)
    if w.shape != (n,):
        raise InputError(f'weights must have the shape ({n},), got {w.shape}')
    if not (np.isfinite(w).all() and (w >= 0.0).all()):
        raise InputError('weights must be finite and not negative')
    return w
