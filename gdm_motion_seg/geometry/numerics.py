# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Small linear systems, medians and the noise of a fit, inside compiled kernels.

By hand, because a call of LAPACK or numpy costs more than the arithmetic of a 5 x 5 matrix, and
plain loops compile in a fraction of the time that array expressions take.
"""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.compilation import kernel

PRIOR_NOISE_PX = 0.7
"""Noise of a tracker that is assumed before residuals are known, at 640 pixels."""
PRIOR_STRENGTH = 8.0
"""Number of residuals that this assumption is worth."""
LEAST_NOISE_PX = 0.1
"""Smallest noise of a tracker, at 640 pixels."""
LOSS_SIGMAS = 2.385
"""Scale of a Cauchy loss over the noise: 95 % efficiency under Gaussian noise."""


@kernel
def solve_inplace(a: FloatArray, b: FloatArray) -> bool:
    """
    Solve A x = b by Cholesky; x replaces b. False if A is not positive definite.

    Of A only the lower triangle is read; the factor replaces it.
    """
    n = a.shape[0]
    for j in range(n):
        d = a[j, j]
        for k in range(j):
            d -= a[j, k] * a[j, k]
        if not d > 0.0:
            return False
        root = np.sqrt(d)
        a[j, j] = root
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / root
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= a[i, k] * b[k]
        b[i] = s / a[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= a[k, i] * b[k]
        b[i] = s / a[i, i]
    return True


@kernel
def median(values: FloatArray) -> float:
    """Median of some numbers, by quickselect; 0 of none."""
    n = values.shape[0]
    if n == 0:
        return 0.0
    a = values.copy()
    middle = n // 2
    low, high = 0, n - 1
    while low < high:
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    if n % 2 == 1:
        return float(a[middle])
    below = a[0]
    for i in range(1, middle):
        below = max(below, a[i])
    return float(0.5 * (below + a[middle]))


@kernel
def noise_scale(distances: FloatArray, unit: float, residuals: int, parameters: int) -> float:
    """
    Estimate the standard deviation of a coordinate's noise from distances to a fitted model.

    A distance has one residual (Sampson to F) or two (to a homography); ``unit`` is the size of
    the image relative to 640 pixels. Robust: from the median, then from the distances below 3
    (3.5) standard deviations. Corrected for the fitted parameters, drawn towards the noise of
    usual trackers where there are few points, and never zero.
    """
    n = len(distances)
    prior = (PRIOR_NOISE_PX * unit) ** 2
    freedom = residuals * n - parameters
    if freedom <= 0:
        return math.sqrt(prior)
    # Squared median, squared cut, and mean square below the cut, of unit noise.
    median2, cut2, mean2 = (0.4549, 9.0, 0.9733) if residuals == 1 else (1.3863, 12.25, 1.9731)
    middle = median(distances)
    variance = middle * middle / median2
    for _ in range(3):
        total, count = 0.0, 0
        for d in distances:
            if d * d <= cut2 * variance:
                total += d * d
                count += 1
        if count == 0:
            break
        variance = total / (count * mean2)
    variance = (variance * residuals * n + PRIOR_STRENGTH * prior) / (freedom + PRIOR_STRENGTH)
    return max(math.sqrt(variance), LEAST_NOISE_PX * unit)
