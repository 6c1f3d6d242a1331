# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sequential MAGSAC++ (Barath et al., CVPR 2020) of OpenCV."""

from functools import partial

import cv2
import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg_tools.bench.methods.base import Method
from gdm_motion_seg_tools.bench.methods.sequential import segment_sequentially

THRESHOLD = 1.5
"""Threshold in pixels: from 0.3 to 4, the best on a sample of the three real data sets."""


def estimate(x1: FloatArray, x2: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """Run MAGSAC++ once, and handle its failures."""
    params = cv2.UsacParams()
    params.score = cv2.SCORE_METHOD_MAGSAC
    params.loMethod = cv2.LOCAL_OPTIM_SIGMA
    params.threshold = THRESHOLD
    params.confidence = 0.9999
    params.maxIterations = 10000
    params.randomGeneratorState = int(rng.integers(1, 2 ** 31))
    try:
        f, _ = cv2.findFundamentalMat(x1, x2, params)
    except cv2.error:  # raised on some valid inputs
        return None
    if f is None or f.shape[0] < 3 or not np.isfinite(f[:3]).all():
        return None
    return np.asarray(f[:3], np.float64)  # it may be a stack of solutions


METHODS = (
    Method('magsac', partial(segment_sequentially, estimate, THRESHOLD), finds_k=True,
           note=f'sequential MAGSAC++ of OpenCV, {THRESHOLD:g} px',
           sources=('gdm_motion_seg_tools.bench.methods.magsac', 'gdm_motion_seg.geometry')),
)
