# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tracks over several gaps: the value between tracking and segmentation."""

from dataclasses import dataclass, field, replace

import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray


@dataclass(frozen=True)
class Window:
    """
    N tracks of the newest frame and where they were, one row per track, one column per gap.

    Column 0 is the pair that motions, residuals and messages refer to; the other columns are
    further evidence for the labels of the same tracks.
    """

    x: FloatArray
    """(N, 2) pixels in the newest frame."""
    before: FloatArray
    """(G, N, 2) pixels in each earlier frame; NaN where a track is younger than that."""
    seconds: tuple[float, ...]
    """(G,) time of each gap."""
    covariance: FloatArray
    """(N, 3) xx, xy, yy of the position noise of a track, in square pixels."""
    ids: IntArray
    """(N,) track ids, ascending."""
    image_size: tuple[int, int]
    """Width and height in pixels."""

    def __len__(self) -> int:
        """Count the tracks."""
        return len(self.x)

    @property
    def pair(self) -> Correspondences:
        """Return the correspondences of column 0."""
        return Correspondences(self.before[0], self.x, self.image_size, self.ids)

    def take(self, index: IntArray) -> 'Window':
        """Return some of the tracks."""
        return replace(self, x=self.x[index], before=np.take(self.before, index, axis=1),
                       covariance=self.covariance[index], ids=self.ids[index])


@dataclass(frozen=True)
class TrackedFrame:
    """What tracking makes of one frame."""

    stamp: int
    """Time of the frame in nanoseconds."""
    previous_stamp: int
    """Time of the older frame of the pair; equal to stamp where there is no pair."""
    gap: int
    """Frames between the two; 0 where there is no pair."""
    window: Window
    """Tracks that span the pair; none where there is no pair."""
    reason: str = ''
    """Why there is no pair; empty where there is one."""
    problem: bool = False
    """True where the reason is a fault of the input."""
    n_tracks: int = 0
    """Number of tracks that are followed, of any age."""
    epoch: int = 0
    """Number of restarts before this frame: tracks live within one epoch."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time that each stage took so far."""


def empty_window(image_size: tuple[int, int]) -> Window:
    """Return a window without tracks."""
    return Window(np.empty((0, 2)), np.empty((1, 0, 2)), (0.0,), np.empty((0, 3)),
                  np.empty(0, np.int64), image_size)
