# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Empirical dimension, global dimension and its gradient (sections 3 and 4 of the paper).

These are the definitions, evaluated with a singular value decomposition and therefore exact to
rounding. The search evaluates the same functions of many partitions at once from Gram matrices
(``kernels.py``).
"""

import math

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm.empirical import gram_dimension
from gdm_motion_seg.gdm.validation import (check_alpha, check_epsilon, check_p, check_partition,
                                           check_price, check_vectors)

RANK_TOLERANCE = 1e-13
"""
Singular values below this share of the largest are zero.

They contain only rounding errors. Raised to a power below one they would still matter (1e-16 **
0.35 is 3e-6), and their derivative would be arbitrarily large noise.
"""


def empirical_dimension(vectors: npt.ArrayLike, epsilon: float = 0.35) -> float:
    """
    Estimate the dimension of a set of vectors (the paper's d-hat of epsilon).

    Parameters
    ----------
    vectors : (N, D) array
        The set, one vector per row. The empty set and a set of zero vectors have dimension 0.
    epsilon : float in (0, 1]
        Near 0 the estimate is strict and follows the true dimension; near 1 it is lenient with
        noise.

    Returns
    -------
    float
        ``norm(sigma, epsilon) / norm(sigma, epsilon / (1 - epsilon))`` of the singular values
        sigma.

    Examples
    --------
    >>> round(empirical_dimension([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 0.35), 6)
    3.0
    >>> round(empirical_dimension([[3, 1, 2], [6, 2, 4]], 0.35), 6)
    1.0

    """
    array = check_vectors(vectors, allow_empty=True)
    return dimension_of_spectrum(singular_values(array), check_epsilon(epsilon))


def global_dimension(vectors: npt.ArrayLike, partition: npt.ArrayLike, epsilon: float = 0.35,
                     p: float = 15.0, *, alpha: float | None = None,
                     price: str = 'linear') -> float:
    """
    Measure a partition by the p-norm of its clusters' empirical dimensions (the paper's GD).

    Parameters
    ----------
    vectors : (N, D) array
        The data.
    partition : (N,) labels or (K, N) memberships
        Hard labels 0..K-1 with -1 for points left out, or the paper's membership matrix M.
    epsilon, p : float
        Parameters of empirical and of global dimension.
    alpha : float, optional
        Price of an outlier. With it, row 0 of a membership matrix is the outlier group (so its
        shape is (K + 1, N)), label -1 is, and the price of its members is added.
    price : 'linear' or 'quadratic'
        ``alpha * sum(M[0])``, the paper's definition, or ``alpha / 2 * sum(M[0] ** 2)``, the
        objective whose gradient the paper prints and the descent follows (docs/gdm.md, "The
        outlier row").

    """
    array = check_vectors(vectors)
    memberships, outliers = _split(check_partition(partition, len(array)), alpha)
    dimensions = cluster_dimensions(array, memberships, check_epsilon(epsilon))
    paid = outliers.sum() if check_price(price) == 'linear' else 0.5 * (outliers ** 2).sum()
    total = 0.0 if alpha is None else check_alpha(alpha) * float(paid)
    return p_norm(dimensions, check_p(p)) + total


def global_dimension_gradient(vectors: npt.ArrayLike, partition: npt.ArrayLike,
                              epsilon: float = 0.35, p: float = 15.0, *,
                              alpha: float | None = None, price: str = 'linear') -> FloatArray:
    """
    Differentiate the global dimension by every membership (Theorem 3 of the paper).

    Parameters are those of :func:`global_dimension`; the gradient has the shape of the membership
    matrix. The directions in which a cluster has no extent at all (its zero singular values)
    contribute nothing: there the global dimension has a cusp, not a derivative.
    """
    array, epsilon, p = unit_scale(check_vectors(vectors)), check_epsilon(epsilon), check_p(p)
    memberships, outliers = _split(check_partition(partition, len(array)), alpha)
    parts = [np.linalg.svd(m[:, None] * array, full_matrices=False) for m in memberships]
    dimensions = np.array([dimension_of_spectrum(_clean(s), epsilon) for _, s, _ in parts])
    outer = p_norm_derivative(dimensions, p)
    gradient = np.zeros_like(memberships)
    for k, (_, sigma, axes) in enumerate(parts):
        kept = _clean(sigma) > 0
        slope = dimension_derivative(sigma[kept], epsilon) / sigma[kept]
        gradient[k] = outer[k] * memberships[k] * ((array @ axes[kept].T) ** 2 @ slope)
    if alpha is None:
        return gradient
    paid = np.ones(len(array)) if check_price(price) == 'linear' else outliers
    return np.vstack([check_alpha(alpha) * paid, gradient])


def minimal_p(n_clusters: int, dimension: int) -> float:
    """
    Bound p from below: ln K / (ln(d + 1) - ln d), Theorem 2 of the paper.

    For every larger p the natural partition of K subspaces of dimension d is the only minimizer.

    >>> round(minimal_p(4, 8), 2)
    11.77
    """
    for name, value in (('n_clusters', n_clusters), ('dimension', dimension)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InputError(f'{name} must be a whole number of at least 1, got {value!r}')
    return math.log(n_clusters) / math.log1p(1.0 / dimension)


def singular_values(vectors: FloatArray) -> FloatArray:
    """Compute the singular values; those that contain only rounding errors are set to zero."""
    if vectors.size == 0:
        return np.zeros(0)
    return _clean(np.linalg.svd(vectors, compute_uv=False))


def dimension_of_spectrum(sigma: FloatArray, epsilon: float) -> float:
    """Compute the empirical dimension of a set from its singular values."""
    largest = sigma.max(initial=0.0)
    if largest == 0.0:
        return 0.0
    sigma = sigma[sigma > 0] / largest
    numerator = float((sigma ** epsilon).sum()) ** (1.0 / epsilon)
    if epsilon == 1.0:
        return float(numerator)
    delta = epsilon / (1.0 - epsilon)
    return float(numerator / float((sigma ** delta).sum()) ** (1.0 / delta))


def dimension_derivative(sigma: FloatArray, epsilon: float) -> FloatArray:
    """Differentiate the empirical dimension by each positive singular value (the paper's D_k)."""
    if len(sigma) == 0:
        return np.zeros(0)
    largest = sigma.max()
    s = sigma / largest
    dimension = dimension_of_spectrum(s, epsilon)
    if epsilon == 1.0:
        below = np.where(np.arange(len(s)) == s.argmax(), dimension, 0.0)
    else:
        delta = epsilon / (1.0 - epsilon)
        below = dimension * s ** (delta - 1.0) / (s ** delta).sum()
    above = dimension * s ** (epsilon - 1.0) / (s ** epsilon).sum()
    return np.asarray((above - below) / largest)


def cluster_dimensions(vectors: FloatArray, memberships: FloatArray, epsilon: float) -> FloatArray:
    """Compute the empirical dimension of each cluster of a (K, N) membership matrix."""
    parts = (m[m > 0, None] * vectors[m > 0] for m in memberships)
    return np.array([dimension_of_spectrum(singular_values(part), epsilon) for part in parts])


def hard_dimensions(vectors: FloatArray, labels: IntArray, n_clusters: int,
                    epsilon: float) -> FloatArray:
    """Compute the empirical dimension of each cluster of a hard partition, by Gram matrices."""
    parts = (vectors[labels == k] for k in range(n_clusters))
    return np.array([gram_dimension(part.T @ part, epsilon) for part in parts])


def p_norm(dimensions: FloatArray, p: float) -> float:
    """Compute the p-norm without overflow."""
    largest = float(dimensions.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return float(largest * float(((dimensions / largest) ** p).sum()) ** (1.0 / p))


def p_norm_derivative(dimensions: FloatArray, p: float) -> FloatArray:
    """Differentiate the p-norm by each dimension."""
    norm = p_norm(dimensions, p)
    return np.zeros_like(dimensions) if norm == 0.0 else (dimensions / norm) ** (p - 1.0)


def hard_memberships(labels: npt.NDArray[np.int64], n_clusters: int) -> FloatArray:
    """Encode labels as a membership matrix of zeros and ones; -1 belongs to no cluster."""
    return np.asarray((labels == np.arange(n_clusters)[:, None]).astype(np.float64))


def _split(partition: npt.NDArray[np.generic], alpha: float | None,
           ) -> tuple[FloatArray, FloatArray]:
    """Return the memberships of the clusters and those of the outlier group."""
    if partition.ndim == 1:
        labels = partition.astype(np.int64)
        n_clusters = max(int(labels.max(initial=-1)) + 1, 1)
        return hard_memberships(labels, n_clusters), (labels < 0).astype(np.float64)
    memberships = partition.astype(np.float64)
    if alpha is None:
        return memberships, np.zeros(memberships.shape[1])
    if len(memberships) < 2:
        raise InputError('partition must have an outlier row and at least one cluster row when '
                         f'alpha is given, got the shape {memberships.shape}')
    return memberships[1:], memberships[0]


def unit_scale(vectors: FloatArray) -> FloatArray:
    """Scale by a power of two to entries of at most 1: no digit is lost, no square overflows."""
    _, exponent = np.frexp(np.abs(vectors).max(initial=0.0))
    return np.ldexp(vectors, -int(exponent))


def _clean(sigma: npt.NDArray[np.floating]) -> FloatArray:
    return np.where(sigma > RANK_TOLERANCE * sigma.max(initial=0.0), sigma, 0.0).astype(np.float64)
