# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scores the labels of a whole run against the ground truth."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg_tools.synth.truth import Truth, UNSCORED

OUTLIER = -1
"""The motion id of a keypoint without a motion."""


@dataclass(frozen=True)
class Score:
    """
    The agreement of a run with the ground truth.

    Each motion id is assigned to one true label for the whole run, and in each pair a label has
    only one id: if a body is split, its smaller part is wrong, and so is a body with the id of
    another. A body may get a new id when it returns; ``id_changes`` counts that.
    """

    pairs: int
    points: int
    """Number of keypoints with ground truth."""
    labelled: int
    """Number of them with a motion."""
    right: int
    """Number of them with the motion of their body."""
    motions: int
    """Number of true motions of which most keypoints are right."""
    true_motions: int
    match: dict[int, int]
    """True label of each motion id."""
    per_label: dict[int, tuple[int, int]]
    """Labelled and right keypoints of each true label."""

    @property
    def share_right(self) -> float:
        """Share of right labels among the labelled keypoints."""
        return self.right / self.labelled if self.labelled else 0.0

    @property
    def share_labelled(self) -> float:
        """Share of keypoints with a motion."""
        return self.labelled / self.points if self.points else 0.0

    @property
    def id_changes(self) -> int:
        """Count the ids beyond the first of each true label."""
        return len(self.match) - len(set(self.match.values()))


class Scorer:
    """Collects the results of a run."""

    def __init__(self, truth: Truth) -> None:
        """Begin without results."""
        self._truth = truth
        self._pairs: list[Counter[tuple[int, int]]] = []

    def add(self, older_stamp: int, newer_stamp: int, points: npt.ArrayLike,
            ids: npt.ArrayLike) -> None:
        """Add one pair: keypoints (N, 2) in the newer frame and their motions' ids, or -1."""
        true = self._truth.point_labels(older_stamp, newer_stamp, points)
        scored = true != UNSCORED
        given = np.asarray(ids, np.int64)[scored]
        self._pairs.append(Counter(zip(true[scored].tolist(), given.tolist())))

    def score(self) -> Score:
        """Assign each id to the label of most of its keypoints, and count."""
        total = sum(self._pairs, Counter[tuple[int, int]]())
        match: dict[int, int] = {}
        # The most frequent combination comes first, so the first label of an id is the right one.
        for (label, motion), _ in total.most_common():
            if motion != OUTLIER:
                match.setdefault(motion, label)
        right: Counter[int] = Counter()
        for pair in self._pairs:
            best: Counter[int] = Counter()
            for (label, motion), n in pair.items():
                if match.get(motion) == label:
                    best[label] = max(best[label], n)
            right += best
        points, labelled = Counter[int](), Counter[int]()
        for (label, motion), n in total.items():
            points[label] += n
            labelled[label] += n * (motion != OUTLIER)
        return Score(len(self._pairs), points.total(), labelled.total(), right.total(),
                     sum(2 * right[label] > points[label] for label in points), len(points),
                     match, {label: (labelled[label], right[label]) for label in sorted(points)})
