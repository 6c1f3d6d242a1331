# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Low-Rank Representation (Liu, Lin, Yu, ICML 2010; Liu et al., PAMI 2013).

min |Z|_* + lambda |E|_2,1 with X = X Z + E, by the inexact augmented Lagrangian method; the
affinity is computed from Z.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.spectral import embedded, row_normalised, spectral_labels
from gdm_motion_seg_tools.datasets.pair import LabelledPair

MAX_STEPS = 500
TOLERANCE = 1e-7
MU_MAX = 1e10


@dataclass(frozen=True)
class Parameters:
    """The paper's parameters of one experiment."""

    embedding: str
    weight: float
    """lambda."""
    outlier_threshold: float = np.inf
    """A point is an outlier if its column of E is longer than this."""

    @property
    def rejects_outliers(self) -> bool:
        """Whether a point can be an outlier."""
        return bool(np.isfinite(self.outlier_threshold))


def segment(parameters: Parameters, pair: LabelledPair, n_motions: int,
            rng: np.random.Generator) -> Prediction:
    """Cluster a pair, with the points of large error as outliers."""
    points = embedded(pair, parameters.embedding, normalised=parameters.rejects_outliers)
    z, e = low_rank_representation(points.T, parameters.weight)
    scores = np.linalg.norm(e, axis=0)
    kept = np.flatnonzero(scores <= parameters.outlier_threshold)
    labels = np.full(len(pair), -1, np.int64)
    if len(kept) >= n_motions:
        labels[kept] = spectral_labels(_affinity(z)[np.ix_(kept, kept)], n_motions, rng)
    return Prediction(labels, scores if parameters.rejects_outliers else None)


def low_rank_representation(x: FloatArray, weight: float) -> tuple[FloatArray, FloatArray]:
    """Return Z (N, N) and E (D, N); computed in the row space of X."""
    left, values, basis = np.linalg.svd(x, full_matrices=False)
    rank = int((values > values[0] * 1e-10).sum()) if len(values) else 0
    a = (left * values)[:, :rank]  # X = A Q^T, and Z = Q W: a small problem in W
    q = basis[:rank].T
    normal = np.linalg.inv(np.eye(rank) + a.T @ a)
    w = np.zeros((rank, x.shape[1]))
    e, y1, y2 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(w)
    mu = 1e-6
    for _ in range(MAX_STEPS):
        j = _shrink_spectrum(w + y2 / mu, 1.0 / mu)
        w = normal @ (a.T @ (x - e) + j + (a.T @ y1 - y2) / mu)
        residual = x - a @ w
        e = _shrink_columns(residual + y1 / mu, weight / mu)
        gap1, gap2 = residual - e, w - j
        if max(np.abs(gap1).max(), np.abs(gap2).max()) < TOLERANCE * max(1.0, np.abs(x).max()):
            break
        y1, y2 = y1 + mu * gap1, y2 + mu * gap2
        mu = min(mu * 1.1, MU_MAX)
    return q @ w, e


def _affinity(z: FloatArray) -> FloatArray:
    """Square the cosines between the rows of U sqrt(S), Z = U S V^T, as the authors' code does."""
    u, s, _ = np.linalg.svd(z, full_matrices=False)
    kept = s > s[0] * 1e-4 if len(s) and s[0] > 0 else np.zeros(len(s), bool)
    rows = row_normalised(u[:, kept] * np.sqrt(s[kept]))
    return np.asarray((rows @ rows.T) ** 4)


def _shrink_spectrum(matrix: FloatArray, by: float) -> FloatArray:
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray((u * np.maximum(s - by, 0.0)) @ vt)


def _shrink_columns(matrix: FloatArray, by: float) -> FloatArray:
    norms = np.linalg.norm(matrix, axis=0)
    return np.asarray(matrix * (np.maximum(norms - by, 0.0) / np.where(norms > 0, norms, 1.0)))


def _method(name: str, parameters: Parameters, note: str) -> Method:
    return Method(name, partial(segment, parameters), note=note,
                  rejects_outliers=parameters.rejects_outliers,
                  sources=('gdm_motion_seg_tools.bench.methods.lrr',
                           'gdm_motion_seg_tools.bench.methods.spectral'))


METHODS = (
    _method('lrr-linear', Parameters('linear', 100.0), 'lambda 100'),
    _method('lrr-nonlinear', Parameters('nonlinear', 10000.0), 'lambda 10000'),
    _method('lrr-outliers', Parameters('nonlinear', 0.1, 0.138),
            'nonlinear, normalised, lambda 0.1, outlier threshold 0.138'),
)
