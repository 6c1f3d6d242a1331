# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Robust Algebraic Segmentation (Rao, Yang, Sastry, Ma, IJCV 2010).

A motion is a quadric in the joint space z = (x, y, x', y', 1) of a correspondence, K motions are
a polynomial p of degree 2K, fitted linearly. On the tangent space of p at a sample its second
derivative is that of the sample's own quadric. Two samples share a motion if their second
derivatives, restricted to both tangent spaces (the mutual contraction), are parallel.
"""

from functools import partial
from itertools import product

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import normalize_image_points
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg_tools.bench.fundamentals import fit_fundamental
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.spectral import spectral_labels
from gdm_motion_seg_tools.datasets.pair import LabelledPair

ANGLE_TOLERANCE = 0.22
"""angleTolerance of the paper's experiments, rad."""
BOUNDARY_PX = 5.0
"""boundaryThreshold of the paper's experiments."""
MAX_REJECTED = 0.6
"""Largest share of the samples that the robust fit of the polynomial rejects."""
REJECTED_AT_ONCE = 0.05
FIT_POINTS = 8
MODEL_ROUNDS = 5


def segment(reject: bool, pair: LabelledPair, n_motions: int, rng: np.random.Generator,
            ) -> Prediction:
    """Cluster a pair; with ``reject``, points far from polynomial and models are outliers."""
    z = joint_samples(pair)
    exponents = monomials(n_motions)
    limit = BOUNDARY_PX / (0.5 * pair.image_size[0]) if reject else np.inf
    kept, coefficients = _robust_polynomial(z, exponents, limit)
    labels = np.full(len(pair), -1, np.int64)
    if len(kept) > n_motions:
        gradients, hessians = derivatives(z[kept], exponents, coefficients)
        angles = contraction_angles(gradients, hessians)
        affinity = np.exp(-(angles / ANGLE_TOLERANCE) ** 2)
        labels[kept] = spectral_labels(affinity, n_motions, rng)
    return _by_models(pair, labels, n_motions, reject)


def joint_samples(pair: LabelledPair) -> FloatArray:
    """Return the correspondences as (N, 5) vectors (x, y, x', y', 1)."""
    first, second = (normalize_image_points(x, pair.image_size) for x in (pair.x1, pair.x2))
    return np.column_stack([first, second, np.ones(len(pair))])


def monomials(n_motions: int) -> IntArray:
    """List the exponents of (x, y, x', y', 1) in products of n_motions epipolar constraints."""
    own = [(a, b) for a in range(n_motions + 1) for b in range(n_motions + 1 - a)]
    return np.array([(*first, *second, 2 * n_motions - sum(first) - sum(second))
                     for first, second in product(own, own)])


def fit_polynomial(z: FloatArray, exponents: IntArray) -> FloatArray:
    """Return the coefficients of the polynomial with the smallest values at the samples."""
    values = _powers(z, exponents)
    scale = np.maximum(np.linalg.norm(values, axis=0), np.finfo(float).tiny)
    scaled = values / scale
    return np.asarray(np.linalg.eigh(scaled.T @ scaled)[1][:, 0] / scale)


def derivatives(z: FloatArray, exponents: IntArray, coefficients: FloatArray,
                ) -> tuple[FloatArray, FloatArray]:
    """Differentiate a polynomial once, (N, 5), and twice, (N, 5, 5)."""
    n, size = len(z), exponents.shape[1]
    unit = np.eye(size, dtype=np.int64)
    gradients, hessians = np.empty((n, size)), np.empty((n, size, size))
    for a in range(size):
        once = exponents - unit[a]
        factor = coefficients * exponents[:, a]
        gradients[:, a] = _powers(z, np.maximum(once, 0)) @ factor
        for b in range(a + 1):
            twice = factor * once[:, b]
            hessians[:, a, b] = _powers(z, np.maximum(once - unit[b], 0)) @ twice
            hessians[:, b, a] = hessians[:, a, b]
    return gradients, hessians


def contraction_angles(gradients: FloatArray, hessians: FloatArray) -> FloatArray:
    """Return the angle between the mutual contractions of every two samples, rad."""
    n, size = gradients.shape
    normals = _unit(gradients)
    tangent = np.eye(size) - normals[:, :, None] * normals[:, None]
    own = tangent @ hessians @ tangent
    angles = np.zeros((n, n))
    for i in range(n):
        others = normals[i + 1:]
        rest = _unit(others - (others @ normals[i])[:, None] * normals[i])
        both = tangent[i] - rest[:, :, None] * rest[:, None]
        mine, theirs = both @ own[i] @ both, both @ hessians[i + 1:] @ both
        lengths = np.linalg.norm(mine, axis=(1, 2)) * np.linalg.norm(theirs, axis=(1, 2))
        cosines = np.abs((mine * theirs).sum(axis=(1, 2))) / np.maximum(lengths, 1e-300)
        angles[i, i + 1:] = np.arccos(np.minimum(cosines, 1.0))
    return np.asarray(angles + angles.T)


def _robust_polynomial(z: FloatArray, exponents: IntArray, limit: float,
                       ) -> tuple[IntArray, FloatArray]:
    """Reject the samples farthest from the polynomial until the others are within a limit."""
    kept = np.arange(len(z))
    while True:
        coefficients = fit_polynomial(z[kept], exponents)
        if not np.isfinite(limit):
            return kept, coefficients
        gradients = derivatives(z[kept], exponents, coefficients)[0]
        values = _powers(z[kept], exponents) @ coefficients
        lengths = np.linalg.norm(gradients[:, :4], axis=1)
        distances = np.abs(values) / np.maximum(lengths, np.finfo(float).tiny)
        if distances.max() <= limit or len(kept) <= (1.0 - MAX_REJECTED) * len(z):
            return kept, coefficients
        drop = max(int(REJECTED_AT_ONCE * len(kept)), 1)
        kept = np.sort(kept[np.argsort(distances)[:-drop]])


def _by_models(pair: LabelledPair, labels: IntArray, n_motions: int, reject: bool) -> Prediction:
    """Fit an F to every group, assign every sample to the nearest, and repeat."""
    distances = np.full((n_motions, len(pair)), np.inf)
    for _ in range(MODEL_ROUNDS):
        for k in range(n_motions):
            members = labels == k
            if members.sum() >= FIT_POINTS:
                f = fit_fundamental(pair.x1[members], pair.x2[members])
                distances[k] = sampson_distances(f, pair.x1, pair.x2)
        nearest = distances.min(axis=0)
        if not np.isfinite(nearest).any():
            break
        limit = BOUNDARY_PX if reject else np.inf
        new = np.where(nearest <= limit, distances.argmin(axis=0), -1)
        if (new == labels).all():
            break
        labels = new
    return Prediction(labels.astype(np.int64), distances.min(axis=0) if reject else None)


def _powers(z: FloatArray, exponents: IntArray) -> FloatArray:
    """Evaluate every monomial at every sample, (N, M)."""
    table = z[:, :, None] ** np.arange(int(exponents.max(initial=0)) + 1)
    values = np.ones((len(z), len(exponents)))
    for a in range(exponents.shape[1]):
        values *= table[:, a, exponents[:, a]]
    return values


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(lengths > 1e-12, lengths, np.inf)


def _method(name: str, reject: bool, note: str) -> Method:
    return Method(name, partial(segment, reject), rejects_outliers=reject, warm_up=False,
                  note=note,
                  sources=('gdm_motion_seg_tools.bench.methods.ras',
                           'gdm_motion_seg_tools.bench.methods.spectral',
                           'gdm_motion_seg.geometry'))


METHODS = (_method('ras', False, 'angle tolerance 0.22'),
           _method('ras-outliers', True, 'angle tolerance 0.22, boundary 5 px'))
