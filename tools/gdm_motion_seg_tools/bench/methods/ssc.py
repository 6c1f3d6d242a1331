# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Sparse Subspace Clustering (Elhamifar, Vidal, CVPR 2009).

Each point is a sparse affine combination of the others: min |c|_1 + lambda |Y c - y|_2 with
sum(c) = 1, solved for all points together by ADMM; the coefficients are the affinity.
"""

from functools import partial

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.spectral import embedded, spectral_labels
from gdm_motion_seg_tools.datasets.pair import LabelledPair

WEIGHT = 0.001
"""lambda of the paper's experiments."""
MAX_STEPS = 1000
TOLERANCE = 1e-4


def segment(embedding: str, pair: LabelledPair, n_motions: int, rng: np.random.Generator,
            ) -> Prediction:
    """Cluster a pair."""
    coefficients = np.abs(sparse_representation(embedded(pair, embedding).T, WEIGHT))
    coefficients /= np.maximum(coefficients.max(axis=0), np.finfo(float).tiny)
    return Prediction(spectral_labels(coefficients + coefficients.T, n_motions, rng))


def sparse_representation(y: FloatArray, weight: float) -> FloatArray:
    """Return C (N, N) with a zero diagonal and columns that sum to one."""
    scale = float(np.linalg.norm(y, 2)) or 1.0
    y, weight = y / scale, weight * scale  # the same problem, in units for which ADMM converges
    n = y.shape[1]
    sparse, dual1 = np.zeros((n, n)), np.zeros((n, n))
    fitted, dual2 = y.copy(), np.zeros_like(y)
    solve = _AffineLeastSquares(y)
    rho = 10.0
    for _ in range(MAX_STEPS):
        c = solve(sparse - dual1, fitted - dual2)
        before = sparse
        sparse = _soft(c + dual1, 1.0 / rho)
        np.fill_diagonal(sparse, 0.0)
        product = y @ c
        fitted = y + _shrink_columns(product + dual2 - y, weight / rho)
        dual1 += c - sparse
        dual2 += product - fitted
        if max(np.abs(c - sparse).max(), np.abs(sparse - before).max()) < TOLERANCE:
            break
    return sparse


class _AffineLeastSquares:
    """argmin |C - A|^2 + |Y C - B|^2 with columns of C that sum to one; Y has few rows."""

    def __init__(self, y: FloatArray) -> None:
        self._y = y
        self._small = np.linalg.inv(np.eye(len(y)) + y @ y.T)
        self._ones = self._inverse(np.ones((y.shape[1], 1)))

    def _inverse(self, right: FloatArray) -> FloatArray:
        """Apply (I + Y^T Y)^-1 by Woodbury's identity."""
        return np.asarray(right - self._y.T @ (self._small @ (self._y @ right)))

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Solve for all columns."""
        free = self._inverse(a + self._y.T @ b)
        return np.asarray(free + self._ones * ((1.0 - free.sum(axis=0)) / self._ones.sum()))


def _soft(matrix: FloatArray, by: float) -> FloatArray:
    return np.sign(matrix) * np.maximum(np.abs(matrix) - by, 0.0)


def _shrink_columns(matrix: FloatArray, by: float) -> FloatArray:
    norms = np.linalg.norm(matrix, axis=0)
    return np.asarray(matrix * (np.maximum(norms - by, 0.0) / np.where(norms > 0, norms, 1.0)))


METHODS = tuple(
    Method(f'ssc-{embedding}', partial(segment, embedding), rejects_outliers=False, default=False,
           warm_up=False, note='lambda 0.001, affine',
           sources=('gdm_motion_seg_tools.bench.methods.ssc',
                    'gdm_motion_seg_tools.bench.methods.spectral'))
    for embedding in ('linear', 'nonlinear'))
