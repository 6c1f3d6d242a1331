# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Spectral Local Best-fit Flats (Zhang, Szlam, Wang, Lerman, IJCV 2012).

A flat is fitted to the neighbourhood of every point. The size of the neighbourhood is the first
minimum of Jones' beta number, the error of the flat over the radius. Two points have a high
affinity if each lies near the flat of the other.
"""

from functools import partial

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.flats import fit_flat, nearest_neighbours, spectra_by_scale
from gdm_motion_seg_tools.bench.methods.spectral import embedded, spectral_labels
from gdm_motion_seg_tools.datasets.pair import LabelledPair

DIMENSION = {'linear': 3, 'nonlinear': 6}
"""d of the paper's experiments."""
SIGMA = 20000.0
"""
sigma of the paper's experiments.

As the paper uses the same value for both embeddings, it must be relative to the scale of the data.
Here it is a multiple of the mean squared error of the local flat.
"""
FIRST_SIZE, STEP = 2, 2
"""Neighbourhoods begin with FIRST_SIZE d points and grow by STEP."""
CHUNK = 64
"""Number of points that are processed together, to limit memory."""


def segment(embedding: str, reassign: bool, pair: LabelledPair, n_motions: int,
            rng: np.random.Generator) -> Prediction:
    """
    Cluster a pair; with ``reassign`` every point is then assigned to the nearest flat.

    The last step is our reading of the variant for motion segmentation, SLBF-MS.
    """
    # In pixels, a quarter of the files of Hopkins155: 8.1 and 17.9 % instead of 8.3 and 15.0 %.
    points = embedded(pair, embedding, normalised=embedding == 'nonlinear')
    d = DIMENSION[embedding]
    labels = spectral_labels(_affinity(points, best_neighbourhoods(points, d), d), n_motions, rng)
    return Prediction(_nearest_flat(points, labels, d) if reassign else labels)


def best_neighbourhoods(points: FloatArray, d: int) -> list[IntArray]:
    """Find for each point the neighbourhood at the first minimum of the beta number."""
    n = len(points)
    smallest = min(FIRST_SIZE * d, n)
    sizes = np.arange(smallest, max(n // 2, smallest + 3 * STEP) + 1, STEP)
    sizes = sizes[sizes <= n]
    found: list[IntArray] = []
    for first in range(0, n, CHUNK):
        seeds = np.arange(first, min(first + CHUNK, n))
        order, distances = nearest_neighbours(points, seeds, int(sizes[-1]))
        errors = np.sqrt(spectra_by_scale(points, order, sizes)[..., d:].sum(axis=-1))
        beta = errors / np.maximum(distances[:, sizes - 1], np.finfo(float).tiny)
        inner = beta[:, 1:-1]
        minimum = (inner < beta[:, :-2]) & (inner < beta[:, 2:])
        best = np.where(minimum.any(axis=1), minimum.argmax(axis=1) + 1, len(sizes) - 1) \
            if minimum.shape[1] else np.full(len(seeds), len(sizes) - 1)
        found += [order[s, :sizes[k]] for s, k in enumerate(best)]
    return found


def _affinity(points: FloatArray, regions: list[IntArray], d: int) -> FloatArray:
    n = len(points)
    distances, errors = np.empty((n, n)), np.empty(n)
    for j, region in enumerate(regions):
        distances[:, j] = fit_flat(points[region], d).squared_distances(points)
        errors[j] = distances[region, j].mean()
    mutual = np.sqrt(distances * distances.T)
    # If a neighbourhood fits its flat exactly, there is no error to compare with.
    floor = max(np.finfo(float).eps * float(mutual.max()), np.finfo(float).tiny)
    near = np.exp(-mutual / np.maximum(2.0 * SIGMA * errors, floor))
    return np.asarray(near + near.T)


def _nearest_flat(points: FloatArray, labels: IntArray, d: int) -> IntArray:
    flats = [fit_flat(points[labels == k], d) for k in np.unique(labels)]
    return np.asarray(np.argmin([flat.squared_distances(points) for flat in flats], axis=0))


def _method(name: str, embedding: str, reassign: bool) -> Method:
    said = ', reassigned to the nearest flat' if reassign else ''
    return Method(name, partial(segment, embedding, reassign), rejects_outliers=False,
                  warm_up=False, note=f'd = {DIMENSION[embedding]}, sigma 20000{said}',
                  sources=('gdm_motion_seg_tools.bench.methods.flats',
                           'gdm_motion_seg_tools.bench.methods.slbf',
                           'gdm_motion_seg_tools.bench.methods.spectral'))


METHODS = (_method('slbf-linear', 'linear', False), _method('slbf-nonlinear', 'nonlinear', False),
           _method('slbf-ms', 'nonlinear', True))
