# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The four methods of the paper on embedded correspondences: Algorithm 1 and section 5."""

from dataclasses import replace

import numpy as np

from gdm_motion_seg.gdm.minimize import minimize_global_dimension
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.segmentation.config import SegmentationConfig

OUTLIERS = {'gdm-paper': 'classic', 'gdm-naive': 'naive',
            'gdm-known-fraction': 'known-fraction', 'gdm-model-reassign': 'model-reassign'}
"""Method to the treatment of outliers in section 5 of the paper."""


def partition_as_in_paper(vectors: FloatArray, config: SegmentationConfig,
                          rng: np.random.Generator) -> IntArray:
    """Partition embedded correspondences into n_motions clusters, -1 for outliers."""
    gdm = replace(config.gdm, search='paper', outliers=OUTLIERS[config.method])
    return minimize_global_dimension(vectors, config.n_motions, gdm, rng=rng).labels
