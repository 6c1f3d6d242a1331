# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sequential LO-RANSAC of PoseLib (Larsson), with seven-point samples and bundle adjustment."""

from functools import partial

import numpy as np

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg_tools.bench.methods.base import Method
from gdm_motion_seg_tools.bench.methods.sequential import segment_sequentially

THRESHOLD = 1.0
"""Threshold in pixels: from 0.3 to 4, the best on a sample of the three real data sets."""


def estimate(x1: FloatArray, x2: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """Run PoseLib's estimator once."""
    try:
        import poselib
    except ImportError:
        raise MissingDependencyError('the method poselib needs the package poselib: '
                                     'pip install poselib') from None
    options = {'max_epipolar_error': THRESHOLD, 'seed': int(rng.integers(1, 2 ** 31)),
               'max_iterations': 10000}
    f, _ = poselib.estimate_fundamental(x1, x2, options, {})
    f = np.asarray(f, np.float64)
    return f if f.shape == (3, 3) and np.isfinite(f).all() and np.any(f) else None


METHODS = (
    Method('poselib', partial(segment_sequentially, estimate, THRESHOLD), finds_k=True,
           note=f'sequential LO-RANSAC of PoseLib, {THRESHOLD:g} px',
           sources=('gdm_motion_seg_tools.bench.methods.pose_lib', 'gdm_motion_seg.geometry')),
)
