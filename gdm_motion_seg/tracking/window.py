# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tracks over time: their history, and windows of several gaps, the input of the segmentation."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.geometry.correspondences import Correspondences

Points = npt.NDArray[np.float32]

MAX_FRAMES = 64
"""Number of frames that are kept per time span; frames of faster cameras are thinned out."""
RATE_JITTER = 0.3
"""A frame can be used for a gap if it is too young by at most this share of the gap."""


@dataclass(frozen=True)
class Window:
    """
    N tracks of the newest frame with their positions at G earlier times.

    Gap 0 is the pair to which motions, residuals and messages refer. The other gaps are further
    evidence for the labels of the same tracks.
    """

    x: FloatArray
    """(N, 2) pixels in the newest frame."""
    before: FloatArray
    """(G, N, 2) pixels in each earlier frame; NaN if a track is younger."""
    seconds: tuple[float, ...]
    """(G,) length of each gap in seconds."""
    covariance: FloatArray
    """(N, 3) covariance (xx, xy, yy) of the position noise of a track, in square pixels."""
    ids: IntArray
    """(N,) track ids, ascending."""
    image_size: tuple[int, int]
    """Width and height in pixels."""

    def __len__(self) -> int:
        """Count the tracks."""
        return len(self.x)

    @property
    def pair(self) -> Correspondences:
        """Return the correspondences of gap 0."""
        return Correspondences(self.before[0], self.x, self.image_size, self.ids)

    def take(self, index: IntArray) -> 'Window':
        """Return some of the tracks."""
        return replace(self, x=self.x[index], before=np.take(self.before, index, axis=1),
                       covariance=self.covariance[index], ids=self.ids[index])


@dataclass(frozen=True)
class TrackedFrame:
    """The result of tracking for one frame."""

    stamp: int
    """Time of the frame in nanoseconds."""
    previous_stamp: int
    """Time of the older frame of the pair; equal to stamp if there is no pair."""
    gap: int
    """Number of frames from the older to the newer frame; 0 if there is no pair."""
    window: Window
    """Tracks of the pair; none if there is no pair."""
    reason: str = ''
    """Why there is no pair; empty if there is one."""
    problem: bool = False
    """True if the reason is a fault of the input."""
    n_tracks: int = 0
    """Number of current tracks, of any age."""
    epoch: int = 0
    """Number of restarts before this frame; a track exists within one epoch only."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time of each stage so far."""


class History:
    """Positions of each track: an array (T, N, 2), NaN before a track began."""

    def __init__(self, span_s: float, span_frames: int = 0) -> None:
        """Make an empty history that covers a time span and a number of frames."""
        self._span_ns = round(span_s * 1e9)
        self._span_frames = span_frames
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.stamps: list[int] = []
        self.indices: list[int] = []
        self._positions = np.empty((0, 0, 2), np.float32)

    def keep(self, index: IntArray) -> None:
        """Keep these tracks, in this order."""
        self._positions = np.take(self._positions, index, axis=1)

    def add(self, stamp: int, index: int, points: Points) -> None:
        """Add a frame; points after the known ones are new tracks."""
        n_new = len(points) - self._positions.shape[1]
        unseen = np.full((len(self._positions), n_new, 2), np.nan, np.float32)
        self._positions = np.concatenate([self._positions, unseen], axis=1)
        spacing = 0 if self._span_frames else self._span_ns // MAX_FRAMES
        if self.stamps and stamp - self.stamps[-1] < spacing:
            return
        first = self._first_needed(stamp, index)
        self._positions = np.concatenate([self._positions[first:], points[None]])
        self.stamps = [*self.stamps[first:], stamp]
        self.indices = [*self.indices[first:], index]

    def at(self, row: int) -> Points:
        """Return the positions in one of the kept frames."""
        return np.asarray(self._positions[row])

    def frame_before(self, stamp: int, seconds: float) -> int | None:
        """Return the row of the frame that is nearest to this many seconds before a time."""
        age = (stamp - np.array(self.stamps)) / 1e9
        age = age[age > 0.0]
        if not len(age):
            return None
        row = int(np.argmin(np.abs(age - seconds)))
        # A slow camera has no frame that is young enough: use its last one.
        fits = age[row] > seconds or seconds - age[row] <= RATE_JITTER * seconds
        return row if fits else None

    def frames_before(self, index: int, count: int) -> int | None:
        """Return the row of the frame that is this many frames before another."""
        return self.indices.index(index - count) if index - count in self.indices else None

    def _first_needed(self, stamp: int, index: int) -> int:
        """Return the first row that a gap of a later frame can still need."""
        first = 0
        while first + 1 < len(self.stamps) and (
                self.stamps[first + 1] <= stamp - self._span_ns
                and self.indices[first + 1] <= index - self._span_frames):
            first += 1
        return first
