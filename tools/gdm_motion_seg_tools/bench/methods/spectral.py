# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Common parts of the rivals: embeddings, and spectral clustering."""

import numpy as np
from scipy.linalg import eigh

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import kronecker_embedding, normalize_image_points
from gdm_motion_seg_tools.datasets.pair import LabelledPair


def embedded(pair: LabelledPair, embedding: str, normalised: bool = False) -> FloatArray:
    """
    Embed a pair linearly (R^4) or nonlinearly (R^9), in pixels as in the paper.

    Only thresholds on lengths need normalised coordinates, because those of the paper do not fit
    pixels.
    """
    x1, x2 = pair.x1, pair.x2
    if normalised:
        x1, x2 = (normalize_image_points(x, pair.image_size) for x in (x1, x2))
    # Under an affine camera a rigid motion is an affine subspace of (x, y, x', y').
    return np.hstack([x1, x2]) if embedding == 'linear' else kronecker_embedding(x1, x2)


def spectral_labels(affinity: FloatArray, n_motions: int, rng: np.random.Generator) -> IntArray:
    """Cluster by a symmetric, non-negative affinity (normalised cut, Ng et al.)."""
    degree = np.maximum(affinity.sum(axis=1), np.finfo(float).tiny)
    scaled = affinity / np.sqrt(degree[:, None] * degree[None, :])
    _, vectors = leading_eigenvectors(scaled, n_motions)
    return k_means(row_normalised(vectors), n_motions, rng)


def leading_eigenvectors(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a symmetric matrix, ascending, and their vectors."""
    n = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(n - count, n - 1))
    return values, vectors


def leading_left_vectors(matrix: FloatArray, count: int) -> FloatArray:
    """Return the leading left singular vectors, through the smaller Gram matrix."""
    if matrix.shape[0] <= matrix.shape[1]:
        return leading_eigenvectors(matrix @ matrix.T, count)[1]
    values, vectors = leading_eigenvectors(matrix.T @ matrix, count)
    return np.asarray(matrix @ vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny)))


def k_means(rows: FloatArray, n_clusters: int, rng: np.random.Generator, n_init: int = 10,
            ) -> IntArray:
    """Cluster rows by k-means."""
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        raise MissingDependencyError('the subspace methods need the package scikit-learn: '
                                     'pip install scikit-learn') from None
    model = KMeans(n_clusters, n_init=n_init, random_state=int(rng.integers(2 ** 31)))
    return np.asarray(model.fit_predict(rows), np.int64)


def row_normalised(rows: FloatArray) -> FloatArray:
    """Scale rows to unit length; zero rows are unchanged."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)
