# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of views with known motions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.arrays import IntArray
from gdm_motion_seg_tools.datasets.pair import LabelledPair
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene


def make(n_motions: int, seed: int = 0, n_points: int = 150, **options: Any) -> LabelledPair:
    """Make a pair of views of bodies."""
    scene = Scene(n_points=n_points, n_motions=n_motions, **options)
    return make_scene(scene, np.random.default_rng(seed))


def share_of_right(labels: IntArray, truth: IntArray) -> float:
    """Return the share of right labels after optimal matching; outliers match outliers only."""
    size = max(labels.max(), truth.max()) + 1
    table = np.zeros((size, size))
    for given, true in zip(labels, truth):
        if given >= 0 and true >= 0:
            table[given, true] += 1
    rows, columns = linear_sum_assignment(-table)
    both = int(((labels < 0) & (truth < 0)).sum())
    return float(table[rows, columns].sum() + both) / len(truth)


@pytest.fixture(scope='session')
def pair_of() -> Callable[..., LabelledPair]:
    """Return the function that makes pairs."""
    return make


@pytest.fixture(scope='session')
def right() -> Callable[[IntArray, IntArray], float]:
    """Return the function that scores labels."""
    return share_of_right
