# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
k-means on the positions (x, y, x', y'), as a control.

It does not use motions. If it is right, the objects are far apart in the image, and a low error of
another method is no evidence that it distinguishes motions.
"""

import numpy as np

from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.spectral import embedded, k_means
from gdm_motion_seg_tools.datasets.pair import LabelledPair


def segment(pair: LabelledPair, n_motions: int, rng: np.random.Generator) -> Prediction:
    """Cluster a pair by position."""
    return Prediction(k_means(embedded(pair, 'linear'), n_motions, rng))


METHODS = (
    Method('k-means', segment, default=False, rejects_outliers=False, warm_up=False,
           note='a control: positions only, no motion',
           sources=('gdm_motion_seg_tools.bench.methods.spectral',)),
)
