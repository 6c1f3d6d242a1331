# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The starting partitions of the search."""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import kernels
from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.dimension import hard_memberships
from gdm_motion_seg.gdm.validation import check_starts

AGGLOMERATIVE_EVERY = 3
"""
In the default search, every start with an index divisible by this number is agglomerative; the
others are random partitions.

Each kind reaches minima that the other misses (docs/gdm.md, "Starts"); a random one takes no time.
"""

CRITERION = {'default': kernels.BY_UNION, 'paper': kernels.BY_UNION,
             'paper-literal': kernels.BY_GLOBAL_DIMENSION}
"""
Criterion of the merges of an agglomerative start, for each search.

The paper merges "the pair that results in the lowest global dimension". Read as the p-norm over
all sets, that is the change d_ab^p - d_a^p - d_b^p, which is lowest for two large sets: sets of
different motions merge early, and single points remain. The dimension of the union, the limit for
p to infinity, gives the results that the paper reports (docs/paper.md).
"""


def starting_memberships(vectors: FloatArray, n_clusters: int, config: GdmConfig,
                         starts: npt.ArrayLike | None, rng: np.random.Generator) -> FloatArray:
    """Return the starts of the caller and n1 other starts, as (S, K, N) memberships."""
    collected = [] if starts is None else _of_caller(starts, n_clusters, len(vectors))
    for restart in range(config.n1):
        if config.search != 'default' or restart % AGGLOMERATIVE_EVERY == 0:
            labels = agglomerative_partition(vectors, n_clusters, config, rng)
        else:
            labels = rng.integers(0, n_clusters, len(vectors))
        collected.append(hard_memberships(labels, n_clusters))
    if not collected:
        raise InputError('starts must hold at least one partition when n1 is 0, got '
                         f'{"none" if starts is None else "an empty array"}')
    return np.stack(collected)


def agglomerative_partition(vectors: FloatArray, n_clusters: int, config: GdmConfig,
                            rng: np.random.Generator) -> IntArray:
    """Merge single points into K sets, each time the best of some random pairs (Algorithm 1)."""
    draws = rng.random((len(vectors) - n_clusters, config.n_pairs, 2))
    return kernels.agglomerate(vectors, n_clusters, config.epsilon, config.p, draws,
                               CRITERION[config.search])


def _of_caller(starts: npt.ArrayLike, n_clusters: int, n_points: int) -> list[FloatArray]:
    given = check_starts(starts, n_clusters, n_points)
    if given.ndim == 3:
        return list(given.astype(np.float64))
    return [np.where(labels < 0, 1.0 / n_clusters, hard_memberships(labels, n_clusters))
            for labels in given]
