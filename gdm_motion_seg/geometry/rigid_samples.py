# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The hypotheses of the search on a single pair, refined on what they explain; compiled."""

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.rigid import refine_rigid

INLIER_STEPS = 3
"""Steps of the refinement of a motion on its inliers."""


@kernel
def refine_on_inliers(motions: FloatArray, rays: FloatArray, precision: FloatArray,
                      costs: FloatArray, most: float) -> None:
    """Refine every motion, in place, on the points whose cost (H, N) is at most ``most``."""
    ones, members = np.ones(rays.shape[1]), np.empty(rays.shape[1], np.int64)
    for h in range(len(motions)):
        count = 0
        for n in range(rays.shape[1]):
            if costs[h, n] <= most:
                members[count] = n
                count += 1
        if count > 5:
            refine_rigid(motions[h], rays, members[:count], precision, ones, 0.0, INLIER_STEPS)
