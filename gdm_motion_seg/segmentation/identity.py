# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identity over time: a motion keeps its id while it lives."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.geometry.correspondences import IntArray
from gdm_motion_seg.segmentation.result import MotionSegmentation, OUTLIER


class MotionIdentities:
    """
    Remembers to which motion each track belonged last, and names motions by it.

    A motion that is missed for some frames is known again by the tracks that it had. Ids are not used twice.
    """

    def __init__(self, memory: int = 30) -> None:
        """Make an empty memory in which a track is kept for that many frames after it was last seen."""
        self._memory = memory
        self._next_id = 0
        self._frame = 0
        self._tracks: IntArray = np.empty(0, np.int64)
        self._motions: IntArray = np.empty(0, np.int64)
        self._seen: IntArray = np.empty(0, np.int64)

    def reset(self) -> None:
        """Forget all tracks; ids that were given are not given again."""
        self._tracks = self._motions = self._seen = np.empty(0, np.int64)

    def identify(self, track_ids: IntArray, segmentation: MotionSegmentation) -> MotionSegmentation:
        """Return the segmentation with Motion.id replaced by identities over time."""
        self._frame += 1
        labels = segmentation.labels
        last = self.last_motion(track_ids)
        ids = self._match(labels, last, segmentation.n_motions)
        self._remember(track_ids, labels, ids)
        motions = tuple(replace(m, id=int(i)) for m, i in zip(segmentation.motions, ids))
        return replace(segmentation, motions=motions)

    def last_motion(self, track_ids: IntArray) -> IntArray:
        """Return the id of the motion that each track had last, OUTLIER where none is known."""
        last = np.full(len(track_ids), OUTLIER, np.int64)
        if len(self._tracks):
            at = np.minimum(np.searchsorted(self._tracks, track_ids), len(self._tracks) - 1)
            known = self._tracks[at] == track_ids
            last[known] = self._motions[at[known]]
        return last

    def _match(self, labels: IntArray, last: IntArray, n_motions: int) -> IntArray:
        """Assign to each label the known motion with which it shares most tracks, one to one."""
        ids = np.full(n_motions, OUTLIER, np.int64)
        both = (labels >= 0) & (last >= 0)
        known, column = np.unique(last[both], return_inverse=True)
        if len(known):
            shared = np.zeros((n_motions, len(known)))
            np.add.at(shared, (labels[both], column), 1.0)
            rows, columns = linear_sum_assignment(-shared)
            hit = shared[rows, columns] > 0
            ids[rows[hit]] = known[columns[hit]]
        new = np.flatnonzero(ids == OUTLIER)
        support = np.bincount(labels[labels >= 0], minlength=n_motions)[new]
        for label in new[np.argsort(-support, kind='stable')]:
            ids[label] = self._next_id
            self._next_id += 1
        return ids

    def _remember(self, track_ids: IntArray, labels: IntArray, ids: IntArray) -> None:
        inlier = labels >= 0
        fresh = np.setdiff1d(self._tracks, track_ids[inlier], assume_unique=True)
        keep = np.isin(self._tracks, fresh) & (self._seen > self._frame - self._memory)
        tracks = np.concatenate([self._tracks[keep], track_ids[inlier]])
        motions = np.concatenate([self._motions[keep], ids[labels[inlier]]])
        seen = np.concatenate([self._seen[keep], np.full(int(inlier.sum()), self._frame)])
        order: npt.NDArray[np.intp] = np.argsort(tracks)
        self._tracks, self._motions, self._seen = tracks[order], motions[order], seen[order]
