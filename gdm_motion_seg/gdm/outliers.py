# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The two practical treatments of outliers of the paper (section 5)."""

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.simplex import project_onto_simplex


def set_aside(memberships: FloatArray, fraction: float) -> FloatArray:
    """
    Remove the strongest members of the outlier group (GDM Known-Fraction).

    The input has (S, K + 1, N) memberships with the outlier row first. In the (S, K, N) result the
    given fraction of points, those with the largest outlier memberships, belongs to no cluster. At
    least K points are kept.
    """
    outlier_row, clusters = memberships[:, 0], memberships[:, 1:]
    n_points, n_clusters = outlier_row.shape[1], clusters.shape[1]
    n_removed = min(round(fraction * n_points), n_points - n_clusters)
    strongest = np.argsort(-outlier_row, axis=1, kind='stable')[:, :n_removed]
    kept = np.ones(outlier_row.shape)
    np.put_along_axis(kept, strongest, 0.0, axis=1)
    return project_onto_simplex(clusters) * kept[:, None, :]


def reassign_to_models(vectors: FloatArray, labels: IntArray, dimensions: FloatArray,
                       config: GdmConfig) -> IntArray:
    """
    Assign every point to the nearest subspace, or to none (GDM Model-Reassign).

    A point farther than kappa from all subspaces is an outlier. With kappa = 0 the limit of each
    cluster is mu + r sigma of its residuals.
    """
    distances = subspace_distances(vectors, labels, dimensions)
    for k, residuals in enumerate(distances):
        members = labels == k
        limit = config.kappa
        if limit == 0.0 and members.any():
            limit = residuals[members].mean() + config.r * residuals[members].std()
        residuals[residuals > limit] = np.inf
    return np.where(np.isfinite(distances.min(axis=0)), distances.argmin(axis=0), -1)


def subspace_distances(vectors: FloatArray, labels: IntArray, dimensions: FloatArray,
                       ) -> FloatArray:
    """
    Measure the distance of every point from the subspace of each cluster, (K, N).

    The subspace has the rounded empirical dimension of the cluster, at least 1 and at most D - 1:
    the whole space has no outliers. An empty cluster is infinitely far from every point.
    """
    distances = np.full((len(dimensions), len(vectors)), np.inf)
    for k, dimension in enumerate(dimensions):
        members = labels == k
        if members.any():
            rank = min(max(round(float(dimension)), 1), max(vectors.shape[1] - 1, 1))
            axes = np.linalg.svd(vectors[members], full_matrices=False)[2][:rank]
            distances[k] = np.linalg.norm(vectors - (vectors @ axes.T) @ axes, axis=1)
    return distances
