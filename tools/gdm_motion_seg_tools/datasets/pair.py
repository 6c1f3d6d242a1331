# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pair of views with known labels, the element of every data set."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray

OUTLIER = -1
"""The true label of a point without a motion."""

SMALLEST_MOTION = 8
"""Smallest number of points of a motion that counts in K: fewer do not determine an F linearly."""


@dataclass(frozen=True)
class LabelledPair:
    """Correspondences of two views with ground truth."""

    name: str
    """Unique within the data set, for instance ``Seq005_Clip01/000``."""
    x1: FloatArray
    """(N, 2) pixels in the first view."""
    x2: FloatArray
    """(N, 2) pixels in the second view."""
    image_size: tuple[int, int]
    """Width and height in pixels."""
    truth: IntArray
    """(N,) true motions 0..K-1, or OUTLIER (-1)."""
    group: str = ''
    """Group of the pair: a category, a clip, or a step of a sweep."""
    background: int | None = None
    """True label of the static world, if known."""
    fundamentals: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))
    """(K, 3, 3) true fundamental matrices, if known."""
    clean: tuple[FloatArray, FloatArray] | None = None
    """The points without noise, if known."""

    def __len__(self) -> int:
        """Count the points."""
        return len(self.x1)

    @property
    def n_motions(self) -> int:
        """K: the motions with at least SMALLEST_MOTION points (all of them, if none has)."""
        counts = np.bincount(self.truth[self.truth >= 0]) if len(self.truth) else np.zeros(0)
        return int((counts >= SMALLEST_MOTION).sum()) or int((counts > 0).sum())

    def only_background(self) -> 'LabelledPair':
        """Return the points of the static world only."""
        still = self.truth == self.background
        return LabelledPair(self.name, self.x1[still], self.x2[still], self.image_size,
                            np.zeros(int(still.sum()), np.int64), self.group, 0)


def make_pair(name: str, x1: npt.ArrayLike, x2: npt.ArrayLike, image_size: tuple[int, int],
              labels: npt.ArrayLike, group: str = '', background_label: int | None = None,
              ) -> LabelledPair:
    """Check the arrays of a data set whose labels are 0 for outliers and 1.. for motions."""
    points = Correspondences.from_arrays(x1, x2, image_size)
    given = np.asarray(labels).ravel()
    if given.shape != (len(points),):
        raise InputError(f'{name} has {len(points)} points but {given.size} labels')
    if given.dtype.kind not in 'iuf' or (given != np.floor(given)).any() or (given < 0).any():
        raise InputError(f'{name} must have whole numbers from 0 as labels')
    motions = np.unique(given[given > 0])
    truth = np.where(given > 0, np.searchsorted(motions, given), OUTLIER).astype(np.int64)
    background = None
    if background_label is not None and background_label in motions:
        background = int(np.searchsorted(motions, background_label))
    return LabelledPair(name, points.x1, points.x2, points.image_size, truth, group, background)


def files_in(folder: str | Path, pattern: str, data_set: str) -> list[Path]:
    """Return the files of a data set in order; raises InputError if there are none."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(f'there is no folder {path} to read {data_set} from')
    found = sorted(path.glob(pattern))
    if not found:
        raise InputError(f'the folder {path} contains no {pattern} of {data_set}')
    return found


def unique_names(pairs: Iterable[LabelledPair]) -> list[LabelledPair]:
    """Return the pairs as a list; raises InputError if two have the same name."""
    found = list(pairs)
    names = [pair.name for pair in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f'the pair {min(twice)} occurs twice')
    return found
