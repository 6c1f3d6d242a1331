# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of views with known motions."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene


def make(n_motions, seed=0, n_points=150, **options):
    """Make a pair of views of bodies."""
    scene = Scene(n_points=n_points, n_motions=n_motions, **options)
    return make_scene(scene, np.random.default_rng(seed))


def share_of_right(labels, truth):
    """Return the share of right labels under the best matching, outliers to outliers."""
    size = max(labels.max(), truth.max()) + 1
    table = np.zeros((size, size))
    for given, true in zip(labels, truth):
        if given >= 0 and true >= 0:
            table[given, true] += 1
    rows, columns = linear_sum_assignment(-table)
    return (table[rows, columns].sum() + ((labels < 0) & (truth < 0)).sum()) / len(truth)


@pytest.fixture(scope='session')
def pair_of():
    """Give the maker of pairs."""
    return make


@pytest.fixture(scope='session')
def right():
    """Give the measure of labels."""
    return share_of_right
