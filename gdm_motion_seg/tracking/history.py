# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where the tracks were in the frames of the last gap: chains, in bounded memory."""

from collections import deque
from dataclasses import dataclass

from gdm_motion_seg.geometry.correspondences import IntArray
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.detect import Points

SNAPSHOTS_PER_GAP = 256
"""Frames remembered when the gap is given in seconds; faster cameras are thinned to that."""


@dataclass(frozen=True)
class Snapshot:
    """The tracks of one frame."""

    index: int
    """Number of the frame since the last start."""
    stamp: int
    """Time of the frame in nanoseconds."""
    ids: IntArray
    """(N,) track ids, ascending."""
    points: Points
    """(N, 2) pixels."""


class History:
    """The snapshots of the last gap and the search for the older frame of a pair."""

    def __init__(self, config: TrackingConfig) -> None:
        """Make an empty history."""
        self._gap = config.frame_gap
        self._gap_ns = round(config.frame_gap_s * 1e9)
        self._snapshots: deque[Snapshot] = deque()

    def clear(self) -> None:
        """Forget everything."""
        self._snapshots.clear()

    def partner(self, newer: Snapshot) -> Snapshot | None:
        """Return the older frame for a pair with the new one, None if there is none yet."""
        if not self._snapshots:
            return None
        if not self._gap_ns:
            oldest = self._snapshots[0]
            return oldest if newer.index - oldest.index >= self._gap else None
        wanted = newer.stamp - self._gap_ns
        # A tenth of the gap is what a camera's rate may jitter.
        if self._snapshots[0].stamp > wanted + self._gap_ns // 10:
            return None
        return min(self._snapshots, key=lambda s: abs(s.stamp - wanted))

    def waiting_for(self, newer: Snapshot) -> str:
        """Say what is missing for a pair with the new frame."""
        first = self._snapshots[0] if self._snapshots else newer
        if self._gap_ns:
            return f'waiting for {(self._gap_ns - (newer.stamp - first.stamp)) / 1e9:.2f} s more'
        missing = self._gap - (newer.index - first.index)
        return f'waiting for {missing} more frame{"s" if missing > 1 else ""}'

    def add(self, snapshot: Snapshot) -> None:
        """Remember a frame and forget those that no pair can need any more."""
        snapshots = self._snapshots
        if not self._gap_ns:
            snapshots.append(snapshot)
            while len(snapshots) > self._gap:
                snapshots.popleft()
            return
        spacing = self._gap_ns // SNAPSHOTS_PER_GAP
        if not snapshots or snapshot.stamp - snapshots[-1].stamp >= spacing:
            snapshots.append(snapshot)
        while len(snapshots) > 1 and snapshots[1].stamp <= snapshot.stamp - self._gap_ns:
            snapshots.popleft()
