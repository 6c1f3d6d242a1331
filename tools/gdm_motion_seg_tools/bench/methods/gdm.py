# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The methods of this package: segment_motions, and the paper's variants on the engine."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.dimension import unit_scale
from gdm_motion_seg.gdm.kernels import agglomerate, BY_GROWTH
from gdm_motion_seg.gdm.minimize import minimize_global_dimension
from gdm_motion_seg.gdm.outliers import subspace_distances
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.embedding import embed, kronecker_embedding
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.segmentation.segment import segment_motions
from gdm_motion_seg_tools.bench.fundamentals import fit_fundamental, refine_fundamental
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.datasets.pair import LabelledPair, SMALLEST_MOTION

PAPER_RESTARTS = 30
"""n1 of the paper's runs on Hopkins155 and on data with outliers (section Experiment Setup)."""
NAIVE_ALPHA = 0.02
"""alpha of the paper's GDM-Naive."""
FAR_PX = 1e6
"""Score that is larger than any residual."""
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
    Return outlier scores: points labelled as outliers first, then by residual.

    The label is better evidence than the residual: a wrong match may be near an epipolar line by
    chance.
    """
    residuals = np.minimum(result.residuals, FAR_PX)
    return np.where(result.labels < 0, FAR_PX + residuals, residuals)


@dataclass(frozen=True)
class PaperVariant:
    """How the paper's method is run: settings of the engine, coordinates and starts."""

    config: GdmConfig
    coordinates: str = 'image'
    """image (half the width for both axes), axes ([-1, 1] on each) or pixels."""
    starts: str = ''
    """Empty for the default starts of the search; growth or truth for others."""


def segment_as_in_paper(variant: PaperVariant, pair: LabelledPair, n_motions: int,
                        rng: np.random.Generator) -> Prediction:
    """
    Run the engine alone on the Kronecker embedding, as the paper does.

    The score of a point is its distance from the nearest subspace, which Model-Reassign compares
    with kappa; points labelled as outliers come first.
    """
    vectors = _embedded(pair, variant.coordinates)
    config, starts = variant.config, None
    if variant.starts:
        starts = _starts(variant, vectors, pair, n_motions, rng)
        config = replace(config, n1=0)
    result = minimize_global_dimension(vectors, n_motions, config, starts=starts, rng=rng)
    distances = subspace_distances(vectors, result.labels, result.dimensions).min(axis=0)
    scores = np.where(result.labels < 0, FAR_PX + distances, distances)
    return Prediction(result.labels, scores, _fundamentals(pair, result.labels))


def _embedded(pair: LabelledPair, coordinates: str) -> FloatArray:
    if coordinates == 'pixels':
        return kronecker_embedding(pair.x1, pair.x2)
    if coordinates == 'axes':
        half = 0.5 * np.array(pair.image_size)
        return kronecker_embedding(pair.x1 / half - 1.0, pair.x2 / half - 1.0)
    return embed(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))


def _starts(variant: PaperVariant, vectors: FloatArray, pair: LabelledPair, n_motions: int,
            rng: np.random.Generator) -> IntArray:
    if variant.starts == 'truth':
        return np.minimum(pair.truth, n_motions - 1)[None]
    config = variant.config
    shape = (len(vectors) - n_motions, config.n_pairs, 2)
    return np.array([agglomerate(unit_scale(vectors), n_motions, config.epsilon, config.p,
                                 rng.random(shape), BY_GROWTH) for _ in range(config.n1)])


def _fundamentals(pair: LabelledPair, labels: IntArray) -> FloatArray:
    """Fit an F to each cluster; NaN if it has fewer than eight points."""
    found = np.full((int(labels.max(initial=-1)) + 1, 3, 3), np.nan)
    for k in range(len(found)):
        x1, x2 = pair.x1[labels == k], pair.x2[labels == k]
        if len(x1) >= SMALLEST_MOTION:
            found[k] = refine_fundamental(fit_fundamental(x1, x2), x1, x2)
    return found


def _of_the_paper(name: str, note: str, **settings: Any) -> Method:
    variant = PaperVariant(GdmConfig(**{'n1': PAPER_RESTARTS, 'search': 'paper', **settings}))
    return Method(name, partial(segment_as_in_paper, variant), minimises_gd=True,
                  rejects_outliers=variant.config.outliers != 'classic', note=note,
                  sources=PAPER_SOURCES)


def _reading(name: str, note: str, search: str = 'paper', **how: str) -> Method:
    """Make another reading of the paper's start or coordinates, for the table of evidence."""
    variant = PaperVariant(GdmConfig(n1=PAPER_RESTARTS, search=search), **how)
    return Method(name, partial(segment_as_in_paper, variant), default=False,
                  minimises_gd=variant.coordinates == 'image', rejects_outliers=False,
                  uses_truth=variant.starts == 'truth', note=note, sources=PAPER_SOURCES)


METHODS = (
    Method('gdm', partial(segment, SegmentationConfig()), finds_k=True, minimises_gd=True,
           note='the default method with its default constants', sources=SOURCES),
    _of_the_paper('gdm-paper', 'GDM-Classic, n1 30'),
    _of_the_paper('gdm-naive', 'GDM-Naive, n1 30, alpha 0.02', outliers='naive',
                  alpha=NAIVE_ALPHA),
    _of_the_paper('gdm-known-fraction', 'n1 30, a fifth of the points rejected',
                  outliers='known-fraction'),
    _of_the_paper('gdm-model-reassign', 'n1 30, kappa 0.05', outliers='model-reassign'),
    _reading('gdm-paper-literal', 'gdm-paper, merging by the p-norm over all sets',
             search='paper-literal'),
    _reading('gdm-paper-growth', 'gdm-paper, merging by d_ab - max(d_a, d_b)', starts='growth'),
    _reading('gdm-paper-axes', 'gdm-paper, each axis scaled to [-1, 1]', coordinates='axes'),
    _reading('gdm-paper-pixels', 'gdm-paper in pixels', coordinates='pixels'),
    _reading('gdm-truth-pixels', 'gdm-paper in pixels, started at the truth',
             coordinates='pixels', starts='truth'),
    _reading('gdm-truth', 'gdm-paper, started at the truth', starts='truth'),
)
