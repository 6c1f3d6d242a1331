# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Ids of bodies over the seam between two parts of a recording.

Both parts have results for the frames of the overlap, with the same tracks. Bodies that share
tracks are the same body.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.segmentation.result import WORLD

Ints = npt.NDArray[np.int64]

MIN_SHARE = 0.3
"""Two bodies are the same if they share at least this share of the smaller one's keypoints."""


@dataclass(frozen=True)
class Seen:
    """Keypoints of some frames: one row per keypoint."""

    stamp: Ints
    track: Ints
    label: Ints

    @property
    def keys(self) -> npt.NDArray[np.void]:
        """Return stamp and track id of each keypoint as one value."""
        keys = np.empty(len(self.stamp), [('stamp', np.int64), ('track', np.int64)])
        keys['stamp'], keys['track'] = self.stamp, self.track
        return keys


@dataclass(frozen=True)
class Mapping:
    """Maps old ids to new ones; ids that are not listed are shifted."""

    known: dict[int, int] = field(default_factory=dict)
    shift: int = 0

    def __call__(self, ids: npt.ArrayLike) -> Ints:
        """Return the new ids; ``known`` includes the world and wrong matches."""
        ids = np.asarray(ids, np.int64)
        if not ids.size:
            return ids
        # A table over the range of the ids: sorting the rows would take most of the joining.
        low, high = int(ids.min()), int(ids.max())
        new = [self.known.get(value, value + self.shift) for value in range(low, high + 1)]
        return np.take(np.array(new, np.int64), ids - low)


FIXED = {label: label for label in range(-1, WORLD + 1)}
"""Labels with the same meaning in all parts: wrong matches and the world."""


def stitch(before: Seen, after: Seen, next_body: int) -> Mapping:
    """
    Return the new labels of the later part.

    Parameters
    ----------
    before, after :
        Results of the overlap: of the earlier part, with final ids, and of the later part.
    next_body :
        First id for new bodies.

    """
    _, i, j = np.intersect1d(before.keys, after.keys, assume_unique=True, return_indices=True)
    return Mapping(FIXED | same_bodies(before.label[i], after.label[j]), next_body - 1)


def same_bodies(before: Ints, after: Ints) -> dict[int, int]:
    """
    Match bodies one to one by the keypoints that they share: later id to earlier id.

    Row by row, ``before`` and ``after`` are the two labels of a keypoint that both parts have.
    """
    both = (before > WORLD) & (after > WORLD)
    ids_before, rows = np.unique(before[both], return_inverse=True)
    ids_after, columns = np.unique(after[both], return_inverse=True)
    shared = np.zeros((len(ids_before), len(ids_after)))
    np.add.at(shared, (rows, columns), 1.0)
    sizes_before = np.array([np.sum(before == label) for label in ids_before])
    sizes_after = np.array([np.sum(after == label) for label in ids_after])
    smaller = np.minimum(sizes_before[:, None], sizes_after[None, :])
    shared[shared < MIN_SHARE * smaller] = 0.0
    chosen = zip(*linear_sum_assignment(shared, maximize=True))
    return {int(ids_after[c]): int(ids_before[r]) for r, c in chosen if shared[r, c] > 0}
