# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Our own methods: the default and the paper's four variants, all through segment_motions."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.segmentation.segment import segment_motions
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.datasets.pair import LabelledPair

PAPER_RESTARTS = 30
"""n1 of the paper's runs on Hopkins155 and on data with outliers (section Experiment Setup)."""
NAIVE_ALPHA = 0.02
"""alpha of the paper's GDM-Naive."""
FAR_PX = 1e6
"""Farther than any residual that matters."""
SOURCES = ('gdm_motion_seg.gdm', 'gdm_motion_seg.geometry', 'gdm_motion_seg.segmentation')


def segment(config: SegmentationConfig, pair: LabelledPair, n_motions: int,
            rng: np.random.Generator) -> Prediction:
    """Run segment_motions on a pair."""
    result = segment_motions(pair.x1, pair.x2, pair.image_size,
                             replace(config, n_motions=n_motions), rng)
    fundamentals = np.array([m.fundamental for m in result.motions]).reshape(-1, 3, 3)
    return Prediction(result.labels, outlier_scores(result), fundamentals)


def outlier_scores(result: MotionSegmentation) -> FloatArray:
    """
    Rank the points by how much they look like outliers: those called so first, then by residual.

    The label knows more than the residual: a wrong match may lie near an epipolar line by chance.
    """
    residuals = np.minimum(result.residuals, FAR_PX)
    return np.where(result.labels < 0, FAR_PX + residuals, residuals)


def _of_the_paper(name: str, note: str, **settings: Any) -> Method:
    gdm = GdmConfig(n1=PAPER_RESTARTS, **settings)
    return Method(name, partial(segment, SegmentationConfig(method=name, gdm=gdm)),
                  minimises_gd=True, rejects_outliers=name != 'gdm-paper', note=note,
                  sources=SOURCES)


METHODS = (
    Method('gdm', partial(segment, SegmentationConfig()), finds_k=True, minimises_gd=True,
           note='the default method with its default constants', sources=SOURCES),
    _of_the_paper('gdm-paper', 'GDM-Classic, n1 30'),
    _of_the_paper('gdm-naive', 'GDM-Naive, n1 30, alpha 0.02', alpha=NAIVE_ALPHA),
    _of_the_paper('gdm-known-fraction', 'n1 30, a fifth of the points rejected'),
    _of_the_paper('gdm-model-reassign', 'n1 30, kappa 0.05'),
)
