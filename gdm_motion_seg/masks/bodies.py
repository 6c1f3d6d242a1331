# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bodies of the masks: their ids, how long they are kept, and bodies without tracks."""

from dataclasses import dataclass

import cv2
import numpy as np

from gdm_motion_seg.arrays import IntArray
from gdm_motion_seg.masks.grid import Tracks
from gdm_motion_seg.masks.kernels import FloatImage, IdImage

FLOW_BODY = 1_000_000
"""Ids from here on are bodies that only the flow shows; they have no tracks."""
HOLD_S = 0.5
"""Time in seconds for which a body is kept after neither tracks nor flow show it any more."""
CONTRADICTS = 2.0
"""Smoothed contradiction in nats above which a pixel contradicts the world."""
AREA = 0.002
"""Smallest share of the image that a region covers."""
PATIENCE_S = 0.2
"""Time for which a region must contradict the world before it is a body, in seconds."""
WITNESSES = 3
"""Number of static tracks inside a region that reject it."""
REFUSED = 0.12
"""Mean probability of moving of the tracks inside below which they reject a region."""
OVERLAP = 0.3
"""A region is an earlier body if more than this share of its pixels belonged to that body."""


class Names:
    """Ids of the bodies over time, and the time for which each is still kept."""

    def __init__(self) -> None:
        """Begin without bodies."""
        self._same: dict[int, int] = {}
        self._motion: dict[int, int] = {}
        self._left: dict[int, float] = {}
        self._next = FLOW_BODY

    @property
    def alive(self) -> tuple[int, ...]:
        """Ids of the bodies that are kept at present."""
        return tuple(self._left)

    def new(self) -> int:
        """Return an id for a body that only the flow shows."""
        self._next += 1
        return self._next - 1

    def of_tracks(self, bodies: IntArray, under: IdImage) -> IntArray:
        """
        Return the id in the masks of the body of each track.

        ``under`` (h, w) are the bodies of the last mask. If a body of the tracks is new, and most
        of its tracks lie on a body of the last mask without tracks, it gets the id of that body.
        """
        now = [int(b) for b in np.unique(bodies[bodies > 0])]
        taken = dict[int, int]()
        for body in (b for b in now if b in self._same):
            # A body that returns may find that another one has its name.
            if self._same[body] in taken:
                self._same[body] = body
            taken[self._same[body]] = body
        for body in (b for b in now if b not in self._same):
            values, counts = np.unique(under[bodies == body], return_counts=True)
            top = int(values[np.argmax(counts)])
            takes = top > 0 and top not in taken and counts.max() > 0.5 * counts.sum()
            self._same[body] = top if takes else body
            taken[self._same[body]] = body
        self._motion.update(taken)
        return np.array([self._same.get(int(b), 0) for b in bodies], np.int64)

    def published(self, body: IdImage) -> IdImage:
        """Replace names by the ids of the motions that have, or last had, the bodies' tracks."""
        out: IdImage = body.copy()
        for name in np.unique(body[body > 0]).tolist():
            if (motion := self._motion.get(name, name)) != name:
                out[body == name] = motion
        return out

    def tick(self, seen: set[int], seconds: float) -> None:
        """Advance by one frame of this length, in which some bodies were seen."""
        for body in seen:
            self._left[body] = min(HOLD_S, self._left.get(body, 0.0) + seconds)
        for body in set(self._left) - seen:
            self._left[body] -= seconds
        self._left = {body: left for body, left in self._left.items() if left > 0}

    def drop(self, body: int) -> None:
        """Remove a body at once."""
        self._left.pop(body, None)


@dataclass(frozen=True)
class Proposals:
    """Regions of a frame that the flow proposes as bodies."""

    region: IdImage
    """(h, w) id of the proposed body, 0 elsewhere."""
    age: FloatImage
    """(h, w) seconds for which regions have been proposed, including this frame."""
    ids: set[int]
    """Bodies that the flow shows in this frame."""


def propose(contradiction: FloatImage, tracks: Tracks, body: IdImage, known: set[int],
            age: FloatImage, seconds: float, names: Names) -> Proposals:
    """
    Find regions that contradict the world and belong to no body with tracks.

    ``contradiction`` (h, w) is in nats. ``body`` and ``age`` (h, w) are the bodies of the last
    mask and the seconds for which regions were proposed, warped to this frame; ``known`` are the
    bodies that tracks show now, ``seconds`` is the time since the last frame.
    """
    found = Proposals(np.zeros_like(body), np.zeros_like(age), set())
    high = (cv2.GaussianBlur(contradiction, (0, 0), 1.5) > CONTRADICTS).astype(np.uint8)
    count, regions, stats, _ = cv2.connectedComponentsWithStats(high, connectivity=4)
    inside = tracks.at(regions)
    explained = np.isin(body, list(known))
    for i in range(1, count):
        if stats[i, cv2.CC_STAT_AREA] < AREA * body.size:
            continue
        here = regions == i
        mine = inside == i
        if (mine & tracks.moving).sum() >= WITNESSES:
            continue
        if explained[here].mean() > OVERLAP or (
                mine.sum() >= WITNESSES and tracks.sure[mine].mean() < REFUSED):
            continue
        found.age[here] = np.percentile(age[here], 70) + seconds
        earlier = body[here & (body >= FLOW_BODY)]
        if len(earlier) > OVERLAP * here.sum():
            name = int(np.bincount(earlier - FLOW_BODY).argmax()) + FLOW_BODY
        elif found.age[here].max() >= PATIENCE_S:
            name = names.new()
        else:
            continue
        found.region[here] = name
        found.ids.add(name)
    return found
