# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Projected gradient descent of many soft partitions at once (section 4 of the paper)."""

from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.gdm import kernels
from gdm_motion_seg.gdm.config import GdmConfig

PATIENCE = 6
"""Number of steps without a change of cluster after which the default search ends a descent."""


@dataclass(frozen=True)
class Monomials:
    """The D (D + 1) / 2 products of the coordinates of each vector: v v^T, computed once."""

    by_point: FloatArray
    """(N, D (D + 1) / 2)"""
    by_product: FloatArray
    """The same, transposed and contiguous."""

    @classmethod
    def of(cls, vectors: FloatArray) -> 'Monomials':
        """Compute the monomials of every vector."""
        row, column = np.triu_indices(vectors.shape[1])
        products = vectors[:, row] * vectors[:, column]
        return cls(products, np.ascontiguousarray(products.T))


def gradient_factors(monomials: Monomials, memberships: FloatArray, epsilon: float, p: float,
                     ) -> tuple[FloatArray, FloatArray]:
    """
    Differentiate the global dimension of a batch of (S, K, N) memberships.

    Returns the (S, K) empirical dimensions, and q (S, K, N) such that the gradient is ``q *
    memberships``: with G_k = X diag(m_k^2) X^T = U S^2 U^T, the paper's Theorem 3 is m_kn * c_k *
    v_n^T U (D_k / S) U^T v_n. A step is therefore two matrix products with the monomials and S * K
    eigenproblems of size D.
    """
    n_starts, n_clusters, n = memberships.shape
    grams = (memberships ** 2).reshape(-1, n) @ monomials.by_point
    dimensions = np.empty((n_starts, n_clusters))
    forms = np.empty((n_starts, n_clusters, grams.shape[1]))
    kernels.gradient_forms(grams.reshape(forms.shape), epsilon, p, dimensions, forms)
    quadratic = forms.reshape(n_starts * n_clusters, -1) @ monomials.by_product
    return dimensions, quadratic.reshape(n_starts, n_clusters, n)


def descend(monomials: Monomials, memberships: FloatArray, config: GdmConfig,
            outlier_row: bool = False) -> tuple[FloatArray, IntArray]:
    """
    Make up to n2 steps from each of the (S, K, N) memberships.

    Returns the final memberships and the number of steps of each.

    With ``outlier_row`` the memberships are (S, K + 1, N) and row 0 is the outlier group. Points
    without any membership are ignored.
    """
    result = np.array(memberships, order='C')
    steps = np.full(len(result), config.n2)
    running = np.arange(len(result))
    batch = result.copy()
    quiet = np.zeros(len(result), np.int64)
    rule = kernels.NO_OUTLIER_ROW
    if outlier_row:
        quadratic = config.outlier_price == 'quadratic'
        rule = kernels.QUADRATIC_PRICE if quadratic else kernels.LINEAR_PRICE
    for step in range(config.n2):
        clusters = batch[:, int(outlier_row):]
        _, factors = gradient_factors(monomials, clusters, config.epsilon, config.p)
        changes = kernels.take_step(batch, factors, config.alpha, rule, config.step)
        if config.search != 'default':
            continue
        quiet = np.where(changes == 0, quiet + 1, 0)
        done = quiet >= PATIENCE
        if done.any():
            result[running[done]] = batch[done]
            steps[running[done]] = step + 1
            running, batch, quiet = running[~done], batch[~done], quiet[~done]
            if len(running) == 0:
                break
    result[running] = batch
    return result, steps
