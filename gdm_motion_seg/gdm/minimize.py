# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Algorithm 1 of the paper for a batch of starts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import kernels
from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.descent import descend, Monomials
from gdm_motion_seg.gdm.dimension import (
    cluster_dimensions, hard_dimensions, hard_memberships, p_norm, unit_scale)
from gdm_motion_seg.gdm.outliers import reassign_to_models, set_aside
from gdm_motion_seg.gdm.starts import starting_memberships
from gdm_motion_seg.gdm.validation import check_n_clusters, check_partition, check_vectors

TIE = 1e-3
"""Restarts whose GD differs by less than this share are compared by the sum of dimensions."""

HOPE = 0.05
"""After one sweep the default search drops restarts that are above the best by this share."""


@dataclass(frozen=True)
class GdmResult:
    """The best partition, and statistics of the search."""

    labels: IntArray
    """(N,) 0..K-1, or -1 for an outlier."""
    memberships: FloatArray
    """(K, N) soft memberships before thresholding; 1 minus a column's sum is the outlier part."""
    global_dimension: float
    """GD of the labels; with outliers='naive' it includes the price of the outliers."""
    dimensions: FloatArray
    """(K,) empirical dimension of each cluster of the labels; 0 for an empty one."""
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
        The data, one vector per row.
    n_clusters : int
        The number K of sets.
    config : GdmConfig
        Settings of the search. It makes ``config.n1`` starts of its own: random and agglomerative
        partitions, with ``search='paper'`` only agglomerative ones.
    starts : (S, N) labels or (S, K, N) memberships, optional
        Starting partitions, in addition to the n1 starts of the search (or instead of them if
        ``n1`` is 0). A point of label -1 starts as an equal member of every cluster.
    rng : numpy Generator or seed
        Randomness of the starts of the search.

    Examples
    --------
    >>> plane = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0], [2, 1, 0]]
    >>> line = [[1, 1, 1], [2, 2, 2], [-1, -1, -1], [3, 3, 3]]
    >>> result = minimize_global_dimension(plane + line, 2, rng=0)
    >>> sorted(result.dimensions.round(1).tolist())
    [1.0, 2.0]

    """
    config = config or GdmConfig()
    unscaled = check_vectors(vectors)
    x = unit_scale(unscaled)
    k = check_n_clusters(n_clusters, len(x))
    memberships = starting_memberships(x, k, config, starts, np.random.default_rng(rng))
    memberships, labels, steps = _descend_and_threshold(x, memberships, config)
    sweeps, dimensions, values = _reassign_all(x, labels, k, config)
    best = _best(values, dimensions, config)
    chosen = labels[best].copy()
    if config.search == 'default' and config.tie_weight > 0.0:
        _reassign(x, chosen, k, config, config.tie_weight, config.n3)
    final = cluster_dimensions(x, hard_memberships(chosen, k), config.epsilon)
    if config.outliers == 'model-reassign':
        chosen = reassign_to_models(unscaled, chosen, final, config)
        final = cluster_dimensions(x, hard_memberships(chosen, k), config.epsilon)
    return GdmResult(chosen, memberships[best], _cost(final, chosen, config), final, values, steps,
                     sweeps, best)


def reassign_points(vectors: npt.ArrayLike, labels: npt.ArrayLike, n_clusters: int | None = None,
                    config: GdmConfig | None = None) -> IntArray:
    """
    Move single points to other clusters while that lowers the global dimension.

    At most n3 sweeps over the points are made. Points of label -1 are ignored, unless
    ``config.outliers`` is 'naive': then points may move to the outlier group at the price alpha,
    and back.
    """
    config = config or GdmConfig()
    x = unit_scale(check_vectors(vectors))
    start = check_partition(labels, len(x))
    if start.ndim != 1:
        raise InputError(f'labels must have the shape ({len(x)},), got {start.shape}')
    found = start.astype(np.int64)
    if n_clusters is None:
        n_clusters = max(int(found.max()) + 1, 1)
    k = check_n_clusters(n_clusters, len(x))
    if found.max() >= k:
        raise InputError(f'labels must lie below n_clusters={k}, got {int(found.max())}')
    _reassign(x, found, k, config, 0.0, config.n3)
    return found


def warm_up(dimension: int = 9) -> None:
    """Compile or load everything that a search needs, so that later calls do not wait."""
    x = np.random.default_rng(0).normal(size=(4 * dimension, dimension))
    for search in ('default', 'paper'):
        config = GdmConfig(n1=2, n2=2, search=search, outliers='naive')
        minimize_global_dimension(x, 2, config, rng=0)


def _descend_and_threshold(x: FloatArray, memberships: FloatArray, config: GdmConfig,
                           ) -> tuple[FloatArray, IntArray, IntArray]:
    """Descend from every start; return soft memberships, labels and the steps used."""
    monomials = Monomials.of(x)
    if config.outliers == 'classic':
        memberships, steps = descend(monomials, memberships, config)
        return memberships, memberships.argmax(axis=1), steps
    row = np.zeros_like(memberships[:, :1])
    memberships = np.concatenate([row, memberships], axis=1)
    memberships, steps = descend(monomials, memberships, config, True)
    if config.outliers == 'naive':
        return memberships[:, 1:], memberships.argmax(axis=1) - 1, steps
    memberships, further = descend(
        monomials, set_aside(memberships, config.outlier_fraction), config)
    kept = memberships.any(axis=1)
    return memberships, np.where(kept, memberships.argmax(axis=1), -1), steps + further


def _reassign_all(x: FloatArray, labels: IntArray, k: int, config: GdmConfig,
                  ) -> tuple[IntArray, FloatArray, FloatArray]:
    """Reassign every restart in place; return sweeps, (S, K) dimensions and costs."""
    if config.search != 'default':
        return _reassign_each(x, labels, k, config, config.n3)
    # One sweep for all, and more only for restarts that may still be the best.
    first = min(config.n3, 1)
    sweeps, dimensions, costs = _reassign_each(x, labels, k, config, first)
    hopeful = np.flatnonzero(costs <= costs.min() * (1.0 + HOPE))
    chosen = labels[hopeful]
    more, dimensions[hopeful], costs[hopeful] = _reassign_each(
        x, chosen, k, config, config.n3 - first)
    labels[hopeful] = chosen
    sweeps[hopeful] += more
    return sweeps, dimensions, costs


def _reassign_each(x: FloatArray, labels: IntArray, k: int, config: GdmConfig, n_sweeps: int,
                   ) -> tuple[IntArray, FloatArray, FloatArray]:
    sweeps = np.zeros(len(labels), np.int64)
    dimensions = np.zeros((len(labels), k))
    done: dict[bytes, tuple[IntArray, int, FloatArray]] = {}
    for s, own in enumerate(labels):
        # Restarts often reach the same partition, with its clusters in another order.
        order = _order_of_appearance(own, k)
        partition = np.append(np.argsort(order), -1)[own]
        key = partition.tobytes()
        if key not in done:
            used = _reassign(x, partition, k, config, 0.0, n_sweeps)
            done[key] = (partition, used, hard_dimensions(x, partition, k, config.epsilon))
        partition, sweeps[s], found = done[key]
        labels[s] = np.append(order, -1)[partition]
        dimensions[s, order] = found
    costs = np.array([_cost(d, own, config) for d, own in zip(dimensions, labels)])
    return sweeps, dimensions, costs


def _order_of_appearance(labels: IntArray, k: int) -> IntArray:
    """Return the clusters in the order of their first points, empty ones last."""
    first = np.full(k + 1, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return np.argsort(first[:k], kind='stable')


def _reassign(x: FloatArray, labels: IntArray, k: int, config: GdmConfig, tie_weight: float,
              n_sweeps: int) -> int:
    return kernels.reassign(x, labels, k, config.epsilon, config.p, tie_weight, config.alpha,
                            config.outliers == 'naive', n_sweeps)


def _cost(dimensions: FloatArray, labels: IntArray, config: GdmConfig) -> float:
    price = config.alpha * float((labels < 0).sum()) if config.outliers == 'naive' else 0.0
    return p_norm(dimensions, config.p) + price


def _best(values: FloatArray, dimensions: FloatArray, config: GdmConfig) -> int:
    """
    Choose the restart of lowest global dimension.

    With a large p, GD depends on the largest dimension only. Among restarts with nearly equal GD,
    the default search therefore takes the one with the lowest sum of dimensions.
    """
    if config.search != 'default':
        return int(values.argmin())
    tied = np.flatnonzero(values <= values.min() * (1.0 + TIE))
    return int(tied[dimensions[tied].sum(axis=1).argmin()])
