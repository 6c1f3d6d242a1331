# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The paper's two practical ways with outliers (section 5)."""

import numpy as np

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.simplex import project_onto_simplex
from gdm_motion_seg.gdm.validation import FloatArray, IntArray


def set_aside(memberships: FloatArray, fraction: float) -> FloatArray:
    """
    Take the strongest members of the outlier group out (GDM Known-Fraction).

    From (S, K + 1, N) memberships with the outlier row first to (S, K, N) memberships in which the
    fraction of points that affiliates most with the outliers belongs to no cluster. At least K
    points stay.
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

    A subspace of the rounded empirical dimension (at least 1, at most D - 1: the whole space has
    no outliers) is fitted to each cluster. A point farther than kappa from all of them is an
    outlier; with kappa = 0 each cluster has the limit mu + r sigma of its own residuals.
    """
    distances = np.full((len(dimensions), len(vectors)), np.inf)
    for k, dimension in enumerate(dimensions):
        members = labels == k
        if not members.any():
            continue
        rank = min(max(round(float(dimension)), 1), max(vectors.shape[1] - 1, 1))
        axes = np.linalg.svd(vectors[members], full_matrices=False)[2][:rank]
        residuals = np.linalg.norm(vectors - (vectors @ axes.T) @ axes, axis=1)
        limit = config.kappa
        if limit == 0.0:
            limit = residuals[members].mean() + config.r * residuals[members].std()
        distances[k] = np.where(residuals <= limit, residuals, np.inf)
    return np.where(np.isfinite(distances.min(axis=0)), distances.argmin(axis=0), -1)
