# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Multiscale Analysis of Plane Arrangements (Chen, Maggioni, CVPR 2011).

Around sampled points, the singular values of growing neighbourhoods are computed: those of tangent
directions grow with the radius, those of noise do not. This gives each seed a dimension and the
largest neighbourhood for which it is valid. The distances of all points from the planes of these
neighbourhoods are the affinity.
"""

from functools import partial

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.flats import fit_flat, nearest_neighbours, spectra_by_scale
from gdm_motion_seg_tools.bench.methods.spectral import (
    embedded, k_means, leading_left_vectors, row_normalised)
from gdm_motion_seg_tools.datasets.pair import LabelledPair

SEEDS_PER_CLUSTER = 20
"""n0 / K of the authors' defaults; the paper ran MAPA "without any special parameters"."""
MAX_SCALES = 50
WINDOW = 5
"""Number of scales for a slope."""
LAST_LOWER_SCALE = 12
"""Number of scales among which the smallest good one is searched."""
NOISE_SLOPE, TANGENT_SLOPE = 0.1, 0.2
"""A singular value below the first slope is noise; above the second it is tangential (alpha0)."""
LARGEST_RISE = 0.2
"""A singular value that exceeds the next one by this share is tangential, too."""


def segment(embedding: str, pair: LabelledPair, n_motions: int, rng: np.random.Generator,
            ) -> Prediction:
    """Cluster a pair."""
    # In pixels the products span five decades: half of the files of Hopkins155 had 17 and 30 %
    # error (two and three motions) instead of 15 and 27 %; the paper has 10.7 and 19.4 %.
    points = embedded(pair, embedding, normalised=embedding == 'nonlinear')
    n = len(points)
    seeds = np.sort(rng.permutation(n)[:SEEDS_PER_CLUSTER * n_motions])
    regions, dimensions, kept = good_neighbourhoods(points, seeds)
    if not len(kept):
        return Prediction(np.zeros(n, np.int64))
    affinity = _affinity(points, regions, dimensions)
    inside = np.unique(np.concatenate(regions))
    own = _spectral(affinity[inside], n_motions, rng)
    of_seed = np.full(n, -1)
    of_seed[inside] = own
    distances = np.full((n_motions, n), np.inf)
    for k in range(n_motions):
        members = inside[own == k]
        if not len(members):
            continue
        voters = dimensions[of_seed[kept] == k]
        dimension = _mode(voters if len(voters) else dimensions)
        distances[k] = fit_flat(points[members], dimension).squared_distances(points)
    return Prediction(distances.argmin(axis=0))


def good_neighbourhoods(points: FloatArray, seeds: IntArray,
                        ) -> tuple[list[IntArray], IntArray, IntArray]:
    """Return the largest good neighbourhood and the dimension of each seed that has one."""
    n, ambient = points.shape
    largest = ambient - 1
    reach = max(round(min(n / 5.0, 50.0 * largest * np.log(max(3, largest)))), WINDOW + 1)
    n_scales = min(MAX_SCALES, reach)
    stride = max(round(reach / n_scales), 1)
    sizes = largest + 2 + stride * np.arange(n_scales)
    sizes = sizes[sizes <= n]
    if len(sizes) < WINDOW:
        return [], np.zeros(0, np.int64), np.zeros(0, np.int64)
    order, distances = nearest_neighbours(points, seeds, int(sizes[-1]))
    spectra = np.sqrt(spectra_by_scale(points, order, sizes))
    regions, dimensions, kept = [], [], []
    for s, seed in enumerate(seeds):
        dimension, scale = estimate_dimension(distances[s, sizes - 1], spectra[s])
        if sizes[scale] > 2 * dimension and dimension < ambient:
            regions.append(order[s, :sizes[scale]])
            dimensions.append(dimension)
            kept.append(seed)
    return regions, np.array(dimensions, np.int64), np.array(kept, np.int64)


def estimate_dimension(radii: FloatArray, spectra: FloatArray) -> tuple[int, int]:
    """
    Estimate the dimension around a seed, and the index of the largest scale at which it holds.

    The singular values are examined from the smallest one up, until one is found that grows with
    the radius or stands out from those below.
    """
    n_scales, ambient = spectra.shape
    slopes = _slopes(radii, spectra)
    good = n_scales - 1
    for below in range(ambient - 1, -1, -1):
        own = slopes[:, below]
        quiet = np.flatnonzero(own[:LAST_LOWER_SCALE - WINDOW + 1] < NOISE_SLOPE)
        if below == ambient - 1 and not len(quiet):
            return ambient, good
        lower = int(quiet[0]) if len(quiet) else min(LAST_LOWER_SCALE - WINDOW + 1, len(own) - 1)
        if below < ambient - 1 and own[lower] > TANGENT_SLOPE:
            return below + 1, good
        loud = np.flatnonzero(own[lower:] > TANGENT_SLOPE)
        upper = WINDOW - 1 + (lower + int(loud[0]) - 1 if len(loud) else len(own) - 1)
        upper = max(upper, WINDOW - 1)
        if below < ambient - 1:
            window = spectra[upper - WINDOW + 1:upper + 1]
            rise = window[:, below] - window[:, below + 1]
            whole = np.maximum(window[:, 0] - window[:, below + 1], 1e-300)
            if (rise / whole).mean() > LARGEST_RISE:
                return below + 1, good
        good = upper
    return 1, good


def _slopes(radii: FloatArray, spectra: FloatArray) -> FloatArray:
    """Regress every singular value on the radius over a moving window of scales."""
    x = np.lib.stride_tricks.sliding_window_view(radii, WINDOW)[:, None]
    y = np.lib.stride_tricks.sliding_window_view(spectra, WINDOW, axis=0)
    x = x - x.mean(axis=-1, keepdims=True)
    return np.asarray((x * y).sum(axis=-1) / np.maximum((x ** 2).sum(axis=-1), 1e-300))


def _affinity(points: FloatArray, regions: list[IntArray], dimensions: IntArray) -> FloatArray:
    """Compare the distance of every point from every local plane with the error of that plane."""
    columns = []
    for region, dimension in zip(regions, dimensions):
        heights = fit_flat(points[region], int(dimension)).squared_distances(points)
        error = heights[region].sum() / max(len(region) - 1, 1)
        columns.append(np.exp(-heights / max(2.0 * error, 1e-300)))
    return np.column_stack(columns)


def _spectral(affinity: FloatArray, n_motions: int, rng: np.random.Generator) -> IntArray:
    degree = affinity @ affinity.sum(axis=0)
    rows = affinity / np.sqrt(np.where(degree > 0.0, degree, 1.0))[:, None]
    count = min(n_motions, *rows.shape)
    return k_means(row_normalised(leading_left_vectors(rows, count)), n_motions, rng)


def _mode(values: IntArray) -> int:
    return int(np.bincount(values).argmax())


METHODS = tuple(
    Method(f'mapa-{embedding}', partial(segment, embedding), rejects_outliers=False,
           note="the authors' defaults", warm_up=False,
           sources=('gdm_motion_seg_tools.bench.methods.flats',
                    'gdm_motion_seg_tools.bench.methods.mapa',
                    'gdm_motion_seg_tools.bench.methods.spectral'))
    for embedding in ('linear', 'nonlinear'))
