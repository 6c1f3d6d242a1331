# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Progressive-X (Barath, Matas, ICCV 2019), if its Python binding is installed."""

import numpy as np

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.datasets.pair import LabelledPair

THRESHOLD = 0.75
"""Inlier threshold in pixels; this and the others are its defaults for two-view motions."""
ANY_NUMBER = -1
"""maximum_model_number: no limit."""


def segment(pair: LabelledPair, n_motions: int, rng: np.random.Generator) -> Prediction:
    """Run its two-view motions; a given number of motions is an upper bound."""
    try:
        import pyprogressivex
    except ImportError:
        raise MissingDependencyError(
            'the method progressive-x needs the package pyprogressivex, which is built from '
            "Progressive-X's own sources") from None
    width, height = pair.image_size
    correspondences = np.ascontiguousarray(np.hstack([pair.x1, pair.x2]), np.float64)
    matrices, labels = pyprogressivex.findTwoViewMotions(
        correspondences, width, height, width, height, threshold=THRESHOLD,
        maximum_model_number=n_motions or ANY_NUMBER)
    found = np.asarray(matrices, np.float64).reshape(-1, 3, 3)
    own = np.asarray(labels, np.int64).ravel()
    if len(found) and np.ptp(found) == 0.0:
        raise MissingDependencyError(
            'pyprogressivex returned constant arrays, as its binding does with numpy 2: install '
            'it with numpy below 2')
    # The label after the last motion means outlier.
    own = np.where(own < len(found), own, -1)
    scores = sampson_distances(found, pair.x1, pair.x2).min(axis=0) if len(found) else None
    return Prediction(own, scores, found)


METHODS = (
    Method('progressive-x', segment, finds_k=True, default=False, package='pyprogressivex',
           note=f'its own code and defaults, {THRESHOLD:g} px',
           sources=('gdm_motion_seg.geometry',)),
)
