# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robust statistics: the median, and the scale of the noise of a fit."""

import math

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._linalg import median

PRIOR_NOISE_PX = 0.7
"""Noise of a tracker that is assumed before residuals are known, at 640 pixels."""
PRIOR_STRENGTH = 8.0
"""Number of residuals that this assumption is worth."""
LEAST_NOISE_PX = 0.1
"""Smallest noise of a tracker, at 640 pixels."""
LOSS_SIGMAS = 2.385
"""Scale of a Cauchy loss over the noise: 95 % efficiency under Gaussian noise."""


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
