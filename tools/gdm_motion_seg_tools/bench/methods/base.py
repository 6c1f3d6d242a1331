# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Definition of a method for the benchmarks."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg_tools.datasets.pair import LabelledPair


@dataclass(frozen=True)
class Prediction:
    """The result of a method for a pair."""

    labels: IntArray
    """(N,) motions 0..K-1, or -1 for an outlier."""
    scores: FloatArray | None = None
    """(N,) outlier score of each point; None if the method has none."""
    fundamentals: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))
    """(K, 3, 3) fundamental matrices, NaN if undetermined; empty if the method has none."""

    @property
    def n_motions(self) -> int:
        """Return the number of motions that have a point."""
        return len(np.unique(self.labels[self.labels >= 0]))


Segmenter = Callable[[LabelledPair, int, np.random.Generator], Prediction]
"""Function of pair, number of motions (0: unknown) and generator; only REF may use the truth."""


@dataclass(frozen=True)
class Method:
    """A method with its name on the command line."""

    name: str
    segment: Segmenter
    finds_k: bool = False
    """Whether it can find the number of motions."""
    default: bool = True
    """Whether it runs by default; slow methods do not."""
    minimises_gd: bool = False
    """Whether its global dimension is compared with that of the true partition."""
    rejects_outliers: bool = True
    """Whether it can label a point as an outlier."""
    uses_truth: bool = False
    """Whether it uses the ground truth: a reference that is not ranked."""
    warm_up: bool = True
    """Whether it is run once before it is timed, because the first run compiles and loads."""
    package: str = ''
    """Optional package that it needs."""
    note: str = ''
    """Remark for readers of the table."""
    sources: tuple[str, ...] = ()
    """Packages whose code determines the result; a change invalidates cached rows."""
