# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many labels are right: answers over a whole run, held against the truth."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.synth.truth import Truth, UNSCORED

OUTLIER = -1
"""The motion id of a keypoint without a motion."""


@dataclass(frozen=True)
class Score:
    """The agreement of a run with the truth; an id stands for one true label all along."""

    pairs: int
    points: int
    """Keypoints for which there is a truth."""
    labelled: int
    """Those of them that were given a motion."""
    right: int
    """Those of them that were given the motion of their body."""
    motions: int
    """True motions that were found: matched by an id that most of their keypoints carry."""
    true_motions: int
    match: dict[int, int]
    """Which true label each motion id stands for."""
    per_label: dict[int, tuple[int, int]]
    """Labelled and right keypoints of each true label."""

    @property
    def share_right(self) -> float:
        """Share of right labels among the labelled keypoints."""
        return self.right / self.labelled if self.labelled else 0.0

    @property
    def share_labelled(self) -> float:
        """Share of keypoints that were given a motion."""
        return self.labelled / self.points if self.points else 0.0


class Scorer:
    """Collects the answers of a run."""

    def __init__(self, truth: Truth) -> None:
        """Begin with no answers."""
        self._truth = truth
        self._counts: dict[tuple[int, int], int] = {}
        self._pairs = 0

    def add(self, older_stamp: int, newer_stamp: int, points: npt.ArrayLike,
            ids: npt.ArrayLike) -> None:
        """Add one pair: keypoints (N, 2) in the newer frame and their motions' ids, or -1."""
        true = self._truth.point_labels(older_stamp, newer_stamp, points)
        given = np.asarray(ids, np.int64)
        both = np.column_stack((true, given))[true != UNSCORED]
        for (label, motion), count in zip(*np.unique(both, axis=0, return_counts=True)):
            key = int(label), int(motion)
            self._counts[key] = self._counts.get(key, 0) + int(count)
        self._pairs += 1

    def score(self) -> Score:
        """Match ids and true labels one to one over the whole run, so that most are right."""
        labels = sorted({label for label, _ in self._counts})
        ids = sorted({motion for _, motion in self._counts if motion != OUTLIER})
        table = np.array([[self._counts.get((label, motion), 0) for motion in ids]
                          for label in labels]).reshape(len(labels), len(ids))
        rows, columns = linear_sum_assignment(-table)
        totals = [sum(n for (at, _), n in self._counts.items() if at == label) for label in labels]
        right = {r: table[r, c] for r, c in zip(rows, columns)}
        found = sum(2 * table[r, c] > totals[r] for r, c in zip(rows, columns))
        return Score(self._pairs, sum(totals), int(table.sum()), int(table[rows, columns].sum()),
                     int(found), len(labels),
                     {ids[c]: labels[r] for r, c in zip(rows, columns) if table[r, c]},
                     {label: (int(table[r].sum()), int(right.get(r, 0)))
                      for r, label in enumerate(labels)})
