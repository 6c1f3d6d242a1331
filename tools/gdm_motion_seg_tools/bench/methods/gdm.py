# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Our own methods: the default through segment_motions, the paper's variants on the engine."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.minimize import minimize_global_dimension
from gdm_motion_seg.gdm.outliers import subspace_distances
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import embed
from gdm_motion_seg.geometry.fundamental import fit_fundamental, refine_fundamental
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.segmentation.segment import segment_motions
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.datasets.pair import LabelledPair, SMALLEST_MOTION

PAPER_RESTARTS = 30
"""n1 of the paper's runs on Hopkins155 and on data with outliers (section Experiment Setup)."""
NAIVE_ALPHA = 0.02
"""alpha of the paper's GDM-Naive."""
FAR_PX = 1e6
"""Farther than any residual that matters."""
PAPER_SOURCES = ('gdm_motion_seg.gdm', 'gdm_motion_seg.geometry')
SOURCES = (*PAPER_SOURCES, 'gdm_motion_seg.segmentation')


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


def segment_as_in_paper(config: GdmConfig, pair: LabelledPair, n_motions: int,
                        rng: np.random.Generator) -> Prediction:
    """
    Run the engine alone on the Kronecker embedding, as the paper does.

    The score of a point is its distance from the nearest subspace, on which Model-Reassign decides
    with kappa; points that were called outliers come first.
    """
    vectors = embed(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))
    result = minimize_global_dimension(vectors, n_motions, config, rng=rng)
    distances = subspace_distances(vectors, result.labels, result.dimensions).min(axis=0)
    scores = np.where(result.labels < 0, FAR_PX + distances, distances)
    return Prediction(result.labels, scores, _fundamentals(pair, result.labels))


def _fundamentals(pair: LabelledPair, labels: IntArray) -> FloatArray:
    """Fit an F to each cluster; NaN where it has fewer than eight points."""
    found = np.full((int(labels.max(initial=-1)) + 1, 3, 3), np.nan)
    for k in range(len(found)):
        x1, x2 = pair.x1[labels == k], pair.x2[labels == k]
        if len(x1) >= SMALLEST_MOTION:
            found[k] = refine_fundamental(fit_fundamental(x1, x2), x1, x2)
    return found


def _of_the_paper(name: str, note: str, **settings: Any) -> Method:
    config = GdmConfig(**{'n1': PAPER_RESTARTS, 'search': 'paper', **settings})
    return Method(name, partial(segment_as_in_paper, config), minimises_gd=True,
                  rejects_outliers=config.outliers != 'classic', note=note,
                  sources=PAPER_SOURCES)


METHODS = (
    Method('gdm', partial(segment, SegmentationConfig()), finds_k=True, minimises_gd=True,
           note='the default method with its default constants', sources=SOURCES),
    _of_the_paper('gdm-paper', 'GDM-Classic, n1 30'),
    _of_the_paper('gdm-naive', 'GDM-Naive, n1 30, alpha 0.02', outliers='naive',
                  alpha=NAIVE_ALPHA),
    _of_the_paper('gdm-known-fraction', 'n1 30, a fifth of the points rejected',
                  outliers='known-fraction'),
    _of_the_paper('gdm-model-reassign', 'n1 30, kappa 0.05', outliers='model-reassign'),
)
