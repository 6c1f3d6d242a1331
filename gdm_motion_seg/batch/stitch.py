# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Ids over the seam between two parts of a recording.

Both parts have answered the frames of the overlap. Keypoints of the same frame at the same place
are the same track, and bodies that share tracks are the same body.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from gdm_motion_seg.segmentation.result import WORLD

Ints = npt.NDArray[np.int64]

SAME_PLACE_PX = 2.0
"""Keypoints of a frame that are each other's nearest within this distance are the same."""
MIN_SHARE = 0.3
"""Two bodies are the same if they share at least this part of the smaller one's keypoints,
of those keypoints that both parts have."""


@dataclass(frozen=True)
class Seen:
    """Keypoints of some frames: one row per keypoint."""

    stamp: Ints
    place: npt.NDArray[np.float64]
    """(N, 2) pixels in the newer image."""
    track: Ints
    label: Ints


@dataclass(frozen=True)
class Mapping:
    """Old ids to new ones; ids that are not listed are shifted."""

    known: dict[int, int] = field(default_factory=dict)
    shift: int = 0

    def __call__(self, ids: npt.ArrayLike) -> Ints:
        """Return the new ids; those of the world and of wrong matches belong to ``known``."""
        ids = np.asarray(ids, np.int64)
        values, index = np.unique(ids, return_inverse=True)
        new = [self.known.get(value, value + self.shift) for value in values.tolist()]
        return np.array(new, np.int64)[index].reshape(ids.shape)


FIXED = {label: label for label in range(-1, WORLD + 1)}
"""Labels that mean the same everywhere: wrong matches and the world."""


def same_keypoints(before: Seen, after: Seen) -> tuple[Ints, Ints]:
    """Return the rows of the keypoints that both have: same frame, same place."""
    rows_before, rows_after = [], []
    for stamp in np.intersect1d(before.stamp, after.stamp):
        i, j = (np.flatnonzero(seen.stamp == stamp) for seen in (before, after))
        tree_i, tree_j = cKDTree(before.place[i]), cKDTree(after.place[j])
        distance, nearest = tree_j.query(before.place[i], distance_upper_bound=SAME_PLACE_PX)
        found = np.flatnonzero(np.isfinite(distance))
        _, back = tree_i.query(after.place[j[nearest[found]]])
        mutual = found[back == found]
        rows_before.append(i[mutual])
        rows_after.append(j[nearest[mutual]])
    nothing = np.empty(0, np.int64)
    return (np.concatenate([nothing, *rows_before]), np.concatenate([nothing, *rows_after]))


def stitch(before: Seen, after: Seen, next_body: int, next_track: int
           ) -> tuple[Mapping, Mapping]:
    """
    Return the new labels and track ids of the later part.

    Parameters
    ----------
    before, after :
        Answers of the earlier part, with final ids, and of the later part to the overlap.
    next_body, next_track :
        Ids that are not used yet; everything new is counted from there.

    """
    i, j = same_keypoints(before, after)
    bodies = same_bodies(before.label[i], after.label[j])
    tracks = _most_frequent(before.track[i], after.track[j])
    return (Mapping(FIXED | bodies, next_body - 1), Mapping(tracks, next_track))


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


def _most_frequent(before: Ints, after: Ints) -> dict[int, int]:
    """Match tracks one to one, those first that are together in the most frames."""
    pairs, counts = np.unique(np.column_stack((before, after)), axis=0, return_counts=True)
    chosen: dict[int, int] = {}
    taken: set[int] = set()
    for row in np.argsort(-counts, kind='stable'):
        old, new = int(pairs[row, 0]), int(pairs[row, 1])
        if new not in chosen and old not in taken:
            chosen[new] = old
            taken.add(old)
    return chosen
