# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Vectors in, partition out: the paper's Algorithm 1 over a batch of starts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import kernels
from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.dimension import cluster_dimensions, hard_memberships, p_norm
from gdm_motion_seg.gdm.simplex import project_onto_simplex
from gdm_motion_seg.gdm.validation import (
    check_n_clusters, check_partition, check_starts, check_vectors, FloatArray, IntArray)


@dataclass(frozen=True)
class GdmResult:
    """The best partition that was found, and how the search went."""

    labels: IntArray
    """(N,) 0..K-1, or -1 for an outlier."""
    memberships: FloatArray
    """(K, N) soft memberships before thresholding; all 0 for points that had been removed by then."""
    global_dimension: float
    """GD of the labels; with outliers='naive' it includes the price of the outliers."""
    dimensions: FloatArray
    """(K,) empirical dimension of each cluster."""
    restart_global_dimensions: FloatArray
    """(S,) GD that each restart reached; the starts of the caller come first."""
    steps: IntArray
    """(S,) gradient steps that each restart used."""
    sweeps: IntArray
    """(S,) sweeps of point-by-point reassignment that each restart used."""
    best_restart: int
    """Index of the restart that gave the answer."""


def minimize_global_dimension(vectors: npt.ArrayLike, n_clusters: int,
                              config: GdmConfig | None = None, *,
                              starts: npt.ArrayLike | None = None,
                              rng: np.random.Generator | int | None = None) -> GdmResult:
    """
    Partition vectors into K sets of low dimension.

    Parameters
    ----------
    vectors : (N, D) array
        The data, one vector a row.
    n_clusters : int
        The number K of sets.
    config : GdmConfig
        Settings of the search; ``config.n1`` agglomerative starts are made.
    starts : (S, N) labels or (S, K, N) memberships, optional
        Starting partitions, used next to the agglomerative ones (and instead of them if ``n1`` is 0). A label of
        -1 leaves the point undecided: it starts as an equal member of every cluster.
    rng : numpy Generator or seed
        Randomness of the agglomerative start.
    """
    config = config or GdmConfig()
    x = check_vectors(vectors)
    k = check_n_clusters(n_clusters, len(x))
    generator = np.random.default_rng(rng)
    m = _starting_memberships(x, k, config, starts, generator)
    return _search(x, m, config)


def reassign_points(vectors: npt.ArrayLike, labels: npt.ArrayLike, n_clusters: int | None = None,
                    config: GdmConfig | None = None) -> IntArray:
    """Move single points to other clusters while that lowers the global dimension (n3 sweeps at most)."""
    config = config or GdmConfig()
    x = check_vectors(vectors)
    start = check_partition(labels, len(x))
    if start.ndim != 1:
        raise InputError(f'labels must have the shape ({len(x)},), got {start.shape}')
    found = start.astype(np.int64)
    k = int(found.max()) + 1 if n_clusters is None else n_clusters
    kernels.reassign(x, found, k, config.epsilon, config.p, config.alpha,
                     config.outliers == 'naive', config.n3)
    return found


def warm_up() -> None:
    """Compile everything now, so that no later call has to."""
    x = np.random.default_rng(0).normal(size=(20, 9))
    minimize_global_dimension(x, 2, GdmConfig(n1=1), rng=0)


def _starting_memberships(x: FloatArray, k: int, config: GdmConfig, starts: npt.ArrayLike | None,
                          rng: np.random.Generator) -> FloatArray:
    parts = []
    if starts is not None:
        given = check_starts(starts, k, len(x))
        if given.ndim == 2:
            parts += [np.where(labels < 0, 1.0 / k, hard_memberships(labels, k)) for labels in given]
        else:
            parts += list(given.astype(np.float64))
    parts += [hard_memberships(kernels.agglomerate(x, k, config.epsilon, config.p, rng.random((len(x) - k, config.n_pairs, 2))), k)
              for _ in range(config.n1)]
    if not parts:
        raise InputError('starts must be given when n1 is 0')
    return np.stack(parts)


def _search(x: FloatArray, m: FloatArray, config: GdmConfig) -> GdmResult:
    k = m.shape[1]
    keep = np.ones((len(m), len(x)), bool)
    if config.outliers == 'classic':
        m = _descend(x, m, config, False)
        full = m
    else:
        full = _descend(x, np.concatenate([np.zeros_like(m[:, :1]), m], axis=1), config, True)
        m = full[:, 1:]
    if config.outliers in ('known-fraction', 'model-reassign'):
        removed = int(round(config.outlier_fraction * len(x)))
        removed = min(removed, len(x) - k)
        order = np.argsort(-full[:, 0], axis=1, kind='stable')[:, :removed]
        np.put_along_axis(keep, order, False, axis=1)
        m = project_onto_simplex(m) * keep[:, None, :]
        m = _descend(x, m, config, False) * keep[:, None, :]
        full = m
    if config.outliers == 'naive':
        labels = full.argmax(axis=1) - 1
    else:
        labels = np.where(keep, m.argmax(axis=1), -1)
    labels = np.ascontiguousarray(labels, np.int64)
    sweeps = np.zeros(len(m), np.int64)
    values = np.zeros(len(m))
    for s in range(len(m)):
        sweeps[s] = kernels.reassign(x, labels[s], k, config.epsilon, config.p, config.alpha,
                                     config.outliers == 'naive', config.n3)
        dims = cluster_dimensions(x, hard_memberships(labels[s], k), config.epsilon)
        values[s] = p_norm(dims, config.p)
        if config.outliers == 'naive':
            values[s] += config.alpha * (labels[s] < 0).sum()
    best = int(values.argmin())
    final = labels[best]
    dims = cluster_dimensions(x, hard_memberships(final, k), config.epsilon)
    if config.outliers == 'model-reassign':
        final = _model_reassign(x, final, dims, config)
    return GdmResult(final, m[best], float(values[best]), dims, values,
                     np.full(len(m), config.n2), sweeps, best)


def _descend(x: FloatArray, m: FloatArray, config: GdmConfig, with_outliers: bool) -> FloatArray:
    s, rows, n = m.shape
    k = rows - with_outliers
    upper = np.triu_indices(x.shape[1])
    monomials = x[:, upper[0]] * x[:, upper[1]]
    across = np.ascontiguousarray(monomials.T)
    m = np.ascontiguousarray(m)
    dims = np.empty((s, k))
    forms = np.empty((s, k, len(across)))
    rule = (1 if config.search == 'default' else 2) if with_outliers else 0
    for _ in range(config.n2):
        grams = (m[:, with_outliers:] ** 2).reshape(-1, n) @ monomials
        kernels.gradient_forms(grams.reshape(s, k, -1), config.epsilon, config.p, dims, forms)
        quadratic = (forms.reshape(s * k, -1) @ across).reshape(s, k, n)
        kernels.take_step(m, quadratic, config.alpha, rule, config.step)
    return m


def _model_reassign(x: FloatArray, labels: IntArray, dims: FloatArray, config: GdmConfig) -> IntArray:
    k = len(dims)
    distances = np.full((k, len(x)), np.inf)
    limits = np.full(k, config.kappa)
    for c in range(k):
        members = x[labels == c]
        if len(members) == 0:
            continue
        rank = min(max(int(round(dims[c])), 1), x.shape[1] - 1)
        axes = np.linalg.svd(members, full_matrices=False)[2][:rank]
        distances[c] = np.linalg.norm(x - (x @ axes.T) @ axes, axis=1)
        if config.kappa == 0:
            own = distances[c][labels == c]
            limits[c] = own.mean() + config.r * own.std()
    distances = np.where(distances <= limits[:, None], distances, np.inf)
    return np.where(np.isfinite(distances.min(axis=0)), distances.argmin(axis=0), -1)
