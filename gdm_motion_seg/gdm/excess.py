# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The share that each point has in the empirical dimension of a cluster, compiled."""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inlined, kernel, reordered_kernel
from gdm_motion_seg.gdm.eigen import eigensystem
from gdm_motion_seg.gdm.empirical import GRAM_FLOOR


@reordered_kernel
def _inner_product(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for n in range(len(a)):
        total += a[n] * b[n]
    return total


@inlined
def dimension_shares(vectors: FloatArray, members: IntArray, epsilon: float, weight: float,
                     share: FloatArray) -> float:
    """
    Compute the empirical dimension d of the members; add the share of every point to ``share``.

    The part of direction i of the Gram matrix is m (d - d without it). A point has as much of it
    as it has of that direction's eigenvalue, less the mean over the members. So the share, times
    ``weight``, estimates by how much m d falls without the point and those like it. ``vectors`` is
    (D, N), one column per point.
    """
    d, m = len(vectors), len(members)
    gram, axes, values, off = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    own = np.empty((d, m))
    for i in range(d):
        for j in range(m):
            own[i, j] = vectors[i, members[j]]
    for i in range(d):
        for j in range(i + 1):
            gram[i, j] = _inner_product(own[i], own[j])
    eigensystem(gram, axes, values, off)
    largest = 1e-300
    for value in values:
        largest = max(largest, value)
    delta = epsilon / (1.0 - epsilon)
    above, below = 0.0, 0.0
    for i in range(d):
        # A direction that no point uses has no logarithm.
        values[i] = 0.5 * math.log(max(values[i] / largest, GRAM_FLOOR))
        above += math.exp(epsilon * values[i])
        below += math.exp(delta * values[i])
    dimension = math.exp(math.log(above) / epsilon - math.log(below) / delta)
    form, mean = np.zeros((d, d)), 0.0
    for i in range(d):
        rest = math.exp(math.log(above - math.exp(epsilon * values[i])) / epsilon
                        - math.log(below - math.exp(delta * values[i])) / delta)
        mean += weight * (dimension - rest)
        slope = weight * (dimension - rest) * m * math.exp(-2.0 * values[i]) / largest
        for j in range(d):
            for k in range(j + 1):
                form[j, k] += slope * axes[i, j] * axes[i, k]
    for n in range(len(share)):
        share[n] -= mean
    for j in range(d):
        for k in range(j + 1):
            entry = form[j, k] if j == k else 2.0 * form[j, k]
            one, other = vectors[j], vectors[k]
            for n in range(len(share)):
                share[n] += entry * one[n] * other[n]
    return dimension


@kernel
def excess_dimension(vectors: FloatArray, places: FloatArray, members: IntArray, epsilon: float,
                     null: float, share: FloatArray) -> float:
    """
    Return d - c s of the members, and write the share of every point in m times that.

    d is the dimension of the members' ``vectors``, s that of their ``places``, c is ``null``. Any
    part of a cluster has a lower dimension than the whole, because it covers less of the image. s
    falls in the same way, so that what remains is due to the motion.
    """
    for n in range(len(share)):
        share[n] = 0.0
    if len(members) == 0:
        return 0.0
    excess = 0.0
    for half in range(2):  # one call, because the function is compiled for each
        weight = 1.0 if half == 0 else -null
        excess += weight * dimension_shares(vectors if half == 0 else places, members, epsilon,
                                            weight, share)
    return excess
