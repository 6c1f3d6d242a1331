# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The empirical dimension of a cluster from its Gram matrix."""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray

GRAM_FLOOR = 1e-12
"""
Eigenvalues below this share of the largest are zero.

A sum of squares in double precision is not more accurate. So the search ignores extents below a
millionth of the largest one.
"""


def gram_dimension(gram: FloatArray, epsilon: float) -> float:
    """Compute the empirical dimension of vectors from their Gram matrix."""
    values = np.linalg.eigvalsh(gram)
    if not values[-1] > 0.0:
        return 0.0
    logs = 0.5 * np.log(values[values > GRAM_FLOOR * values[-1]] / values[-1])
    above = float(np.exp(epsilon * logs).sum())
    if epsilon == 1.0:
        return above
    delta = epsilon / (1.0 - epsilon)
    below = float(np.exp(delta * logs).sum())
    return math.exp(math.log(above) / epsilon - math.log(below) / delta)
