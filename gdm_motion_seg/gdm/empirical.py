# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The empirical dimension of clusters from their Gram matrices, compiled."""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.gdm.eigen import eigensystem

GRAM_FLOOR = 1e-12
"""
Eigenvalues below this share of the largest are zero.

A sum of squares in double precision is not more accurate. So the search ignores extents below a
millionth of the largest one.
"""


@kernel
def dimension_of_eigenvalues(values: FloatArray, epsilon: float, scale: float) -> float:
    """Compute the empirical dimension; eigenvalues below GRAM_FLOOR * scale are zero."""
    largest = 0.0
    for value in values:
        largest = max(largest, value)
    floor = GRAM_FLOOR * max(largest, scale)
    if largest <= floor:
        return 0.0
    delta = epsilon / (1.0 - epsilon) if epsilon < 1.0 else 0.0
    above = 0.0
    below = 0.0
    for value in values:
        if value > floor:
            log = 0.5 * math.log(value / largest)
            above += math.exp(epsilon * log)
            below += math.exp(delta * log)
    if epsilon == 1.0:
        return above
    return math.exp(math.log(above) / epsilon - math.log(below) / delta)


@kernel
def hard_dimensions(vectors: FloatArray, labels: IntArray, n_clusters: int,
                    epsilon: float) -> FloatArray:
    """Compute the empirical dimension of each cluster of a hard partition."""
    d = vectors.shape[1]
    gram, axes, values, off = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    dims = np.zeros(n_clusters)
    for k in range(n_clusters):
        for i in range(d):
            for j in range(i + 1):
                gram[i, j] = 0.0
        for n in range(len(labels)):
            if labels[n] == k:
                for i in range(d):
                    for j in range(i + 1):
                        gram[i, j] += vectors[n, i] * vectors[n, j]
        eigensystem(gram, axes, values, off)
        dims[k] = dimension_of_eigenvalues(values, epsilon, 0.0)
    return dims
