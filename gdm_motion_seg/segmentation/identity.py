# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identity over time: a motion keeps its id, and a track its motion, while they live."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.segmentation.carry import distances_to
from gdm_motion_seg.segmentation.motion import estimate_motion
from gdm_motion_seg.segmentation.result import MotionSegmentation, OUTLIER
from gdm_motion_seg.segmentation.stream_config import StreamConfig

Tracks = npt.NDArray[np.void]
TRACK = np.dtype([('id', np.int64), ('home', np.int64), ('last', np.int64),
                  ('former', np.int64), ('dissent', np.int64)])
"""A track, its home, its motion in the last answer, the home before, and answers against home."""

UNKNOWN = -2
"""The previous label of a track that is new."""
MIN_SHARED = 3
"""A motion is not known again by fewer tracks than this."""
MIN_SHARE = 0.25
"""Nor by a smaller share of the smaller of the two sets of tracks."""
MIN_HELD = 8
"""A missed motion is not held with fewer tracks, which do not determine it."""
MIN_HELD_SHARE = 0.6
"""Nor if a smaller share of its tracks still moves as one."""
MIN_PROVEN = 12
"""A missed motion is not proven by fewer tracks, which chance may make move as one."""
MAX_GIVEN_SHARE = 0.5
"""Nor if a larger share of its tracks fits the motions that the answer gave them."""


class MotionIdentities:
    """
    Names motions by the tracks that they share with earlier ones.

    Each track remembers its home, the motion that it belonged to for long, and gives it up only
    after ``patience`` successive answers against it. A motion that is missed or swallowed by
    another for some frames is therefore known again, and a track that fits two motions does not
    flicker between them. The home before is remembered too: a body that stands still for a while
    is one with the world, and is known again when it goes on. Memory is bounded by the tracks of
    the last answer.

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
        self._memory = np.empty(0, TRACK)
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
        tracks, known = self._recall(track_ids)
        return _numbered(np.where(known, np.maximum(tracks['home'], tracks['last']), UNKNOWN))

    def last_labels(self, track_ids: IntArray) -> IntArray | None:
        """Return the last answer itself in the same form."""
        tracks, known = self._recall(track_ids)
        return _numbered(np.where(known, tracks['last'], UNKNOWN))

    def identify(self, c: Correspondences, answer: MotionSegmentation) -> MotionSegmentation:
        """Return the answer with ids over time, steady labels, and only confirmed motions."""
        tracks, _ = self._recall(c.ids)
        keys = self._match(answer.labels, tracks, answer.n_motions)
        answer, keys = self._with_proven(c, answer, tracks, keys)
        self._remember(tracks, answer.labels, keys)
        self._count(answer.labels, keys)
        answer, keys = self._with_held(c, answer, tracks, keys)
        answer = self._steady(c, answer, tracks, keys)
        return _reported(c, answer, [self._ids.get(int(k), OUTLIER) for k in keys])

    def _recall(self, track_ids: IntArray) -> tuple[Tracks, npt.NDArray[np.bool_]]:
        """Return what is remembered of tracks, and of which of them anything is."""
        tracks = np.full(len(track_ids), np.array((0, OUTLIER, OUTLIER, OUTLIER, 0), TRACK))
        tracks['id'] = track_ids
        if not len(self._memory):
            return tracks, np.zeros(len(tracks), np.bool_)
        at = np.searchsorted(self._memory['id'], track_ids).clip(max=len(self._memory) - 1)
        known = self._memory['id'][at] == track_ids
        tracks[known] = self._memory[at[known]]
        return tracks, known

    def _match(self, labels: IntArray, tracks: Tracks, n_motions: int) -> IntArray:
        """
        Give each label the key with which it shares most tracks, one to one, or a new one.

        A track votes by halves for its home and for its motion in the last answer: the home knows
        a motion that was missed, the last answer one that is too new to be a home. What nobody
        knows that way may be a home of the past.
        """
        votes = np.concatenate([tracks['home'], tracks['last']])
        keys = _assign(np.concatenate([labels, labels]), votes, 0.5, np.full(n_motions, OUTLIER))
        past = np.where(np.isin(tracks['former'], keys), OUTLIER, tracks['former'])
        keys = _assign(labels, past, 1.0, keys)
        new = np.flatnonzero(keys == OUTLIER)
        keys[new] = np.arange(self._next_key, self._next_key + len(new))
        self._next_key += len(new)
        return keys

    def _remember(self, tracks: Tracks, labels: IntArray, keys: IntArray) -> None:
        """Note what the answer said of each track, and move those that were away for long."""
        now = tracks.copy()
        now['last'] = np.append(keys, OUTLIER)[labels]
        now['dissent'] = np.where(now['last'] == now['home'], 0, now['dissent'] + 1)
        moves = (now['last'] >= 0) & (
            (now['home'] < 0) | (now['dissent'] >= self.config.patience))
        now['former'] = np.where(moves & (now['home'] >= 0), now['home'], now['former'])
        now['home'] = np.where(moves, now['last'], now['home'])
        now['dissent'][moves] = 0
        # The ids of a tracker ascend already.
        in_order = bool((np.diff(now['id']) > 0).all())
        self._memory = now if in_order else np.sort(now, order='id')

    def _count(self, labels: IntArray, keys: IntArray) -> None:
        """Count how often each motion was found, and give ids to those found often enough."""
        present = set(keys.tolist())
        alive = present.union(self._memory['home'].tolist(), self._memory['former'].tolist())
        limit = self.config.confirm_frames
        # What the first answer finds was never seen otherwise; there is nothing to wait for.
        step = limit if self._first else 1
        absent = alive - present
        self._found = {k: max(0, n - 1) for k, n in self._found.items() if k in absent} | {
            k: min(limit, self._found.get(k, 0) + step) for k in present}
        self._ids = {k: i for k, i in self._ids.items() if k in alive}
        support = np.bincount(labels[labels >= 0], minlength=len(keys))
        for key in keys[np.argsort(-support, kind='stable')].tolist():
            if self._found[key] >= limit and key not in self._ids:
                self._ids[key] = self._next_id
                self._next_id += 1
        self._first = self._first and not present

    def _with_proven(self, c: Correspondences, answer: MotionSegmentation, tracks: Tracks,
                     keys: IntArray) -> tuple[MotionSegmentation, IntArray]:
        """Correct an answer that puts a known motion's tracks where they plainly do not belong."""
        for key in sorted(self._ids.keys() - set(keys.tolist())):
            members = np.flatnonzero(tracks['home'] == key)
            if len(members) < MIN_PROVEN:
                continue
            given = np.full(len(members), np.inf)
            for label, motion in enumerate(answer.motions):
                mine = answer.labels[members] == label
                given[mine] = distances_to(motion, c.take(members[mine])) / motion.threshold
            motion = estimate_motion(c, members, key)
            own = distances_to(motion, c.take(members)) / motion.threshold
            if np.mean(own <= 1.0) >= MIN_HELD_SHARE and np.mean(given <= 1.0) < MAX_GIVEN_SHARE:
                labels = answer.labels.copy()
                labels[members[own <= 1.0]] = len(keys)
                answer = replace(answer, labels=labels, motions=(*answer.motions, motion))
                keys = np.append(keys, key)
        return answer, keys

    def _with_held(self, c: Correspondences, answer: MotionSegmentation, tracks: Tracks,
                   keys: IntArray) -> tuple[MotionSegmentation, IntArray]:
        """Add motions that this answer missed, estimated from the tracks at home in them."""
        for key in sorted(self._ids.keys() - set(keys.tolist())):
            members = np.flatnonzero((tracks['home'] == key)
                                     & (tracks['dissent'] < self.config.hold_frames))
            if len(members) < MIN_HELD:
                continue
            motion = estimate_motion(c, members, key)
            own = distances_to(motion, c.take(members)) / motion.threshold
            if np.mean(own <= 1.0) >= MIN_HELD_SHARE:
                answer = replace(answer, motions=(*answer.motions, motion))
                keys = np.append(keys, key)
        return answer, keys

    def _steady(self, c: Correspondences, answer: MotionSegmentation, tracks: Tracks,
                keys: IntArray) -> MotionSegmentation:
        """Leave tracks with their home where its motion explains them too, for some answers."""
        labels, residuals = answer.labels.copy(), answer.residuals.copy()
        for label, (key, motion) in enumerate(zip(keys, answer.motions)):
            moved = np.flatnonzero((tracks['home'] == key) & (answer.labels != label)
                                   & (tracks['dissent'] < self.config.patience))
            distances = distances_to(motion, c.take(moved))
            stays = distances <= motion.threshold
            labels[moved[stays]] = label
            residuals[moved[stays]] = distances[stays]
        return replace(answer, labels=labels, residuals=residuals)


def _numbered(keys: IntArray) -> IntArray | None:
    """Replace keys by 0..K-1 by falling support, leave what is negative; None if all are."""
    known, at, counts = np.unique(keys[keys >= 0], return_inverse=True, return_counts=True)
    if not len(known):
        return None
    rank = np.empty(len(known), np.int64)
    rank[np.argsort(-counts, kind='stable')] = np.arange(len(known))
    keys[keys >= 0] = rank[at]
    return keys


def _assign(labels: IntArray, votes: IntArray, weight: float, keys: IntArray) -> IntArray:
    """Return keys with each missing one filled by the Hungarian method on the votes for it."""
    keys = keys.copy()
    counts = np.append(keys == OUTLIER, False)[labels] & (votes >= 0)
    known, column = np.unique(votes[counts], return_inverse=True)
    if not len(known):
        return keys
    shared = np.zeros((len(keys), len(known)))
    np.add.at(shared, (labels[counts], column), weight)
    smaller = np.minimum(shared.sum(axis=1)[:, None], shared.sum(axis=0)[None, :])
    shared[(shared < MIN_SHARED) | (shared < MIN_SHARE * smaller)] = 0.0
    rows, columns = linear_sum_assignment(shared, maximize=True)
    hit = shared[rows, columns] > 0
    keys[rows[hit]] = known[columns[hit]]
    return keys


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
        points = c.take(left_out)
        residuals[left_out] = np.min(
            [np.full(len(left_out), np.inf), *(distances_to(m, points) for m in motions)], axis=0)
    return replace(answer, labels=labels, motions=motions, residuals=residuals)
