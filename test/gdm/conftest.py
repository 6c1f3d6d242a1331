# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hybrid-linear data, and the plain transcription of Algorithm 1 to compare with."""

from collections.abc import Sequence
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gdm_motion_seg.arrays import FloatArray, IntArray


def subspace_points(rng: np.random.Generator, dimension: int, n_points: int,
                    ambient: int = 9) -> FloatArray:
    """Draw Gaussian points from a random subspace."""
    basis = np.linalg.qr(rng.normal(size=(ambient, dimension)))[0]
    return np.asarray(rng.normal(size=(n_points, dimension)) @ basis.T)


def hybrid_linear(seed: int, dimensions: Sequence[int], n_points: int = 80, ambient: int = 9,
                  noise: float = 0.0) -> tuple[FloatArray, IntArray]:
    """Draw points from one random subspace for each dimension; return vectors and labels."""
    rng = np.random.default_rng(seed)
    parts = [subspace_points(rng, d, n_points, ambient) for d in dimensions]
    vectors = np.vstack(parts)
    return (vectors + noise * rng.normal(size=vectors.shape),
            np.repeat(np.arange(len(dimensions)), n_points))


def n_wrong(labels: IntArray, truth: IntArray) -> int:
    """Count the points outside the best matching of clusters."""
    from scipy.optimize import linear_sum_assignment
    n = int(max(labels.max(), truth.max())) + 1
    overlap = np.zeros((n, n), int)
    both = (labels >= 0) & (truth >= 0)
    np.add.at(overlap, (labels[both], truth[both]), 1)
    return len(truth) - int(overlap[linear_sum_assignment(-overlap)].sum())


class Draw:
    """The functions that draw and score hybrid-linear data."""

    subspace = staticmethod(subspace_points)
    hybrid = staticmethod(hybrid_linear)
    wrong = staticmethod(n_wrong)


@pytest.fixture(scope='session')
def draw() -> type[Draw]:
    """Return the functions that draw and score hybrid-linear data."""
    return Draw


@pytest.fixture(scope='session')
def plain() -> ModuleType:
    """Load the plain transcription."""
    path = Path(__file__).with_name('plain_algorithm1.py')
    spec = importlib.util.spec_from_file_location('plain_algorithm1', path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
