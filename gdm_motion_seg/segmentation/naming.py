# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identity over time: a body keeps its id while its tracks live. Naming decides no label."""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.segmentation.result import FIRST_BODY, NEW, WORLD

Tracks = npt.NDArray[np.void]
TRACK = np.dtype([('id', np.int64), ('label', np.int64), ('body', np.int64),
                  ('doubt', np.float64)])
"""A track: its label, the last body it belonged to, its evidence."""
NO_TRACK = np.array([(-1, NEW, WORLD, np.nan)], TRACK)
"""A track without a past."""


class Names:
    """What is remembered of the tracks of the last window, and the ids that were given."""

    def __init__(self) -> None:
        """Make an empty memory."""
        self._next_id = FIRST_BODY
        self._since: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all tracks; ids that were given are not given again."""
        self._memory: Tracks = NO_TRACK
        self._since.clear()

    def recall(self, track_ids: IntArray) -> Tracks:
        """Return what is remembered of each track; its label is NEW where that is nothing."""
        at = np.searchsorted(self._memory['id'], track_ids).clip(max=len(self._memory) - 1)
        # Faster by ten times than indexing: a track is a record.
        tracks: Tracks = np.take(self._memory, at)
        np.putmask(tracks, tracks['id'] != track_ids, NO_TRACK)
        tracks['id'] = track_ids
        return tracks

    def assign(self, tracks: Tracks, labels: IntArray, doubt: FloatArray, stamp: int) -> IntArray:
        """
        Replace the numbers of bodies by ids over time, and remember the tracks.

        The largest body chooses first: the id that most of its tracks have, or had before they
        came to rest.
        """
        counts = np.bincount(labels[labels >= FIRST_BODY], minlength=FIRST_BODY)
        taken = set[int]()
        named: IntArray = labels.copy()
        for body in np.argsort(-counts, kind='stable').tolist():
            if body >= FIRST_BODY and counts[body]:
                members = labels == body
                name = self._name(tracks['body'][members], taken)
                taken.add(name)
                named[members] = name
                self._since.setdefault(name, stamp)
        self._remember(tracks, named, doubt)
        return named

    def since(self, body: int) -> int:
        """Return the stamp of the frame in which an id was given."""
        return self._since.get(body, 0)

    def _name(self, votes: IntArray, taken: set[int]) -> int:
        """Return the most frequent id that is still free, or a new one."""
        free = [vote for vote in votes.tolist() if vote >= FIRST_BODY and vote not in taken]
        if free:
            return int(np.bincount(free).argmax())
        self._next_id += 1
        return self._next_id - 1

    def _remember(self, tracks: Tracks, named: IntArray, doubt: FloatArray) -> None:
        now = tracks.copy()
        now['label'], now['doubt'] = named, doubt
        now['body'] = np.where(named >= FIRST_BODY, named, now['body'])
        self._memory = now
        self._since = {body: at for body, at in self._since.items() if (now['body'] == body).any()}
