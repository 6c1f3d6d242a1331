# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a method is to the benchmarks."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg_tools.datasets.pair import LabelledPair


@dataclass(frozen=True)
class Prediction:
    """What a method says about a pair."""

    labels: IntArray
    """(N,) motions 0..K-1, or -1 for an outlier."""
    scores: FloatArray | None = None
    """(N,) how much each point looks like an outlier; None if the method cannot say."""
    fundamentals: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))
    """(K, 3, 3) fundamental matrices, NaN where undetermined; empty if it gives none."""

    @property
    def n_motions(self) -> int:
        """Count the motions that hold a point."""
        return len(np.unique(self.labels[self.labels >= 0]))


Segmenter = Callable[[LabelledPair, int, np.random.Generator], Prediction]
"""Pair, number of motions (0: unknown) and randomness in; only REF may look at the truth."""


@dataclass(frozen=True)
class Method:
    """A method under the name that people give on the command line."""

    name: str
    segment: Segmenter
    finds_k: bool = False
    """Whether it can find the number of motions."""
    default: bool = True
    """Whether it runs when nobody names methods; slow ones do not."""
    minimises_gd: bool = False
    """Whether it makes sense to compare its global dimension with that of the truth."""
    rejects_outliers: bool = True
    """Whether it can call a point an outlier."""
    uses_truth: bool = False
    """Whether it is told the truth: a reference, never ranked."""
    warm_up: bool = True
    """Whether a process runs it once before its time counts: the first run compiles and loads."""
    package: str = ''
    """Package that only some users have and without which it cannot run."""
    note: str = ''
    """What a reader of the table must know."""
    sources: tuple[str, ...] = ()
    """Packages whose code decides the answer; a change there makes cached rows stale."""
