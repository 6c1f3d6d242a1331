# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identity over time: a motion keeps its id, and a track its motion, while they live."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation, OUTLIER
from gdm_motion_seg.segmentation.stream_config import StreamConfig

UNKNOWN = -2
"""The previous label of a track that is new."""
MIN_SHARED = 3
"""A motion is not known again by fewer tracks than this."""
MIN_SHARE = 0.25
"""Nor by a smaller share of the smaller of the two sets of tracks."""


class MotionIdentities:
    """
    Names motions by the tracks that they share with earlier ones.

    Each track remembers its home, the motion that it belonged to for long, and gives it up only
    after ``patience`` successive answers against it. A motion that is missed or swallowed by
    another for some frames is therefore known again, and a track that fits two motions does not
    flicker between them. Memory is bounded by the tracks of the last answer.

    Motions are counted by keys of their own; a key gets an id, which people see, once it was found
    ``confirm_frames`` times. A chance find of one frame costs no id and is not reported.
    """

    def __init__(self, config: StreamConfig | None = None) -> None:
        """Make an empty memory."""
        self.config = config or StreamConfig()
        self._next_key = 0
        self._next_id = 0
        self.reset()

    def reset(self) -> None:
        """Forget all tracks; ids that were given are not given again."""
        self._tracks: IntArray = np.empty(0, np.int64)
        self._homes: IntArray = np.empty(0, np.int64)
        self._last: IntArray = np.empty(0, np.int64)
        self._dissent: IntArray = np.empty(0, np.int64)
        self._found: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._first = True

    def previous_labels(self, track_ids: IntArray) -> IntArray | None:
        """
        Return the last partition of these tracks, a start for the next; None if there is none.

        Labels are 0..K-1 by falling support, OUTLIER for tracks that never had a motion, UNKNOWN
        for new ones. Where home and last answer differ, the younger motion is tried again: either
        it is new, or it was missed.
        """
        tried = self._recall(np.maximum(self._homes, self._last), track_ids, UNKNOWN)
        keys, at, counts = np.unique(tried[tried >= 0], return_inverse=True, return_counts=True)
        if not len(keys):
            return None
        rank = np.empty(len(keys), np.int64)
        rank[np.argsort(-counts, kind='stable')] = np.arange(len(keys))
        tried[tried >= 0] = rank[at]
        return tried

    def identify(self, c: Correspondences, answer: MotionSegmentation) -> MotionSegmentation:
        """Return the answer with ids over time, steady labels, and only confirmed motions."""
        homes = self._recall(self._homes, c.ids, OUTLIER)
        dissent = self._recall(self._dissent, c.ids, 0)
        last = self._recall(self._last, c.ids, OUTLIER)
        keys = self._match(answer.labels, homes, last, answer.n_motions)
        self._remember(c.ids, keys, answer.labels, homes, dissent)
        self._count(keys, np.bincount(answer.labels[answer.labels >= 0],
                                      minlength=answer.n_motions))
        answer = self._steady(c, answer, keys, homes, dissent)
        return _reported(c, answer, [self._ids.get(int(k), OUTLIER) for k in keys])

    def _recall(self, values: IntArray, track_ids: IntArray, default: int) -> IntArray:
        found = np.full(len(track_ids), default, np.int64)
        if len(self._tracks):
            at = np.minimum(np.searchsorted(self._tracks, track_ids), len(self._tracks) - 1)
            known = self._tracks[at] == track_ids
            found[known] = values[at[known]]
        return found

    def _match(self, labels: IntArray, homes: IntArray, last: IntArray,
               n_motions: int) -> IntArray:
        """
        Give each label the key with which it shares most tracks, one to one, or a new one.

        A track votes by halves for its home and for its motion in the last answer: the home knows
        a motion that was missed, the last answer one that is too new to be a home.
        """
        keys = np.full(n_motions, OUTLIER, np.int64)
        votes, voters = np.concatenate([homes, last]), np.concatenate([labels, labels])
        both = (voters >= 0) & (votes >= 0)
        known, column = np.unique(votes[both], return_inverse=True)
        if len(known):
            shared = np.zeros((n_motions, len(known)))
            np.add.at(shared, (voters[both], column), 0.5)
            smaller = np.minimum(shared.sum(axis=1)[:, None], shared.sum(axis=0)[None, :])
            shared[(shared < MIN_SHARED) | (shared < MIN_SHARE * smaller)] = 0.0
            rows, columns = linear_sum_assignment(shared, maximize=True)
            hit = shared[rows, columns] > 0
            keys[rows[hit]] = known[columns[hit]]
        for label in np.flatnonzero(keys == OUTLIER):
            keys[label] = self._next_key
            self._next_key += 1
        return keys

    def _steady(self, c: Correspondences, answer: MotionSegmentation, keys: IntArray,
                homes: IntArray, dissent: IntArray) -> MotionSegmentation:
        """Leave tracks with their home where its motion explains them too, for some answers."""
        labels, residuals = answer.labels.copy(), answer.residuals.copy()
        for label, (key, motion) in enumerate(zip(keys, answer.motions)):
            moved = np.flatnonzero((homes == key) & (answer.labels != label)
                                   & (dissent < self.config.patience))
            if len(moved):
                distances = _distances(motion, c, moved)
                stays = distances <= motion.threshold
                labels[moved[stays]] = label
                residuals[moved[stays]] = distances[stays]
        return replace(answer, labels=labels, residuals=residuals)

    def _remember(self, track_ids: IntArray, keys: IntArray, labels: IntArray, homes: IntArray,
                  dissent: IntArray) -> None:
        said = np.where(labels >= 0, np.append(keys, OUTLIER)[labels], OUTLIER)
        dissent = np.where(said == homes, 0, dissent + 1)
        moves = (said >= 0) & ((homes < 0) | (dissent >= self.config.patience))
        homes = np.where(moves, said, homes)
        dissent[moves] = 0
        order: npt.NDArray[np.intp] = np.argsort(track_ids, kind='stable')
        self._tracks = track_ids[order]
        self._homes, self._dissent = homes[order], dissent[order]
        self._last = said[order]

    def _count(self, keys: IntArray, support: IntArray) -> None:
        """Count how often each motion was found, and give ids to those found often enough."""
        alive = {int(k) for k in np.unique(np.concatenate([self._homes, keys]))}
        now = {int(k) for k in keys}
        found = {k: max(0, n - 1) for k, n in self._found.items() if k in alive and k not in now}
        # What the first answer finds was never seen otherwise; there is nothing to wait for.
        step = self.config.confirm_frames if self._first else 1
        limit = self.config.confirm_frames
        found |= {k: min(limit, self._found.get(k, 0) + step) for k in now}
        self._ids = {k: i for k, i in self._ids.items() if k in alive}
        for key in keys[np.argsort(-support, kind='stable')]:
            if found[int(key)] >= limit and int(key) not in self._ids:
                self._ids[int(key)] = self._next_id
                self._next_id += 1
        self._found = found
        self._first = self._first and not len(keys)


def _distances(motion: Motion, c: Correspondences, index: IntArray) -> FloatArray:
    """Sampson distances of some points to a motion; infinite where it has no F."""
    if not np.isfinite(motion.fundamental).all():
        return np.full(len(index), np.inf)
    return sampson_distances(motion.fundamental, c.x1[index], c.x2[index])


def _reported(c: Correspondences, answer: MotionSegmentation,
              ids: list[int]) -> MotionSegmentation:
    """Order motions by id, drop those without one, and let members follow the labels."""
    order = sorted((i, label) for label, i in enumerate(ids) if i >= 0)
    new_label = np.full(len(ids) + 1, OUTLIER, np.int64)
    new_label[[label for _, label in order]] = np.arange(len(order))
    labels, residuals = new_label[answer.labels], answer.residuals
    motions = tuple(replace(answer.motions[old], id=i, members=np.flatnonzero(labels == new))
                    for new, (i, old) in enumerate(order))
    left_out = np.flatnonzero((labels == OUTLIER) & (answer.labels != OUTLIER))
    if len(left_out):
        residuals = residuals.copy()
        residuals[left_out] = np.min([np.full(len(left_out), np.inf),
                                      *(_distances(m, c, left_out) for m in motions)], axis=0)
    return replace(answer, labels=labels, motions=motions, residuals=residuals)
