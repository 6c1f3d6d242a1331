# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Images to correspondences: pyramidal Lucas-Kanade from frame to frame, chained over the gap."""

from dataclasses import dataclass, field
import math

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.detect import CornerDetector, Points
from gdm_motion_seg.tracking.history import History, Snapshot
from gdm_motion_seg.tracking.image import GreyImage, MIN_SIDE
from gdm_motion_seg.tracking.mask import load_mask

MIN_EIGENVALUE = 1e-4
"""Windows with a flatter structure tensor are not followed (OpenCV's own default)."""


@dataclass(frozen=True)
class TrackedFrame:
    """What tracking makes of one frame."""

    stamp: int
    """Time of the frame in nanoseconds."""
    previous_stamp: int
    """Time of the older frame of the pair; equal to stamp where there is no pair."""
    gap: int
    """Frames between the two; 0 where there is no pair."""
    correspondences: Correspondences
    """Points of the pair; none where there is no pair."""
    reason: str = ''
    """Why there is no pair; empty where there is one."""
    problem: bool = False
    """True where the reason is a fault of the input."""
    n_tracks: int = 0
    """Number of tracks that are followed, of any age."""
    epoch: int = 0
    """How often everything was forgotten before this frame: tracks live within one epoch."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time that each stage took so far."""


class FeatureTracker:
    """
    Follows corners from frame to frame and pairs frames at a gap.

    Chains of short steps follow a large displacement as far as the small ones, at a cost for each
    frame that does not depend on the gap.
    """

    def __init__(self, config: TrackingConfig | None = None) -> None:
        """Make a tracker that has seen nothing; raises InputError if the mask cannot be read."""
        self.config = config or TrackingConfig()
        self._mask_image = load_mask(self.config.mask_path)
        self._mask: GreyImage | None = None
        self._detector = CornerDetector(self.config)
        self._history = History(self.config)
        self._grey: GreyImage | None = None
        self._size = (1, 1)
        self._stamp = 0
        self.epoch = 0
        """How often everything was forgotten."""
        self._index = 0
        self._next_id = 0
        self._ids: IntArray = np.empty(0, np.int64)
        self._points: Points = np.empty((0, 2), np.float32)

    def reset(self) -> None:
        """Forget all tracks; their ids are not given again."""
        self._grey = None
        self.epoch += 1
        self._index = 0
        self._ids = np.empty(0, np.int64)
        self._points = np.empty((0, 2), np.float32)
        self._detector = CornerDetector(self.config)
        self._history.clear()

    def reconfigure(self, config: TrackingConfig) -> None:
        """Take new settings and start afresh; raises InputError if the mask cannot be read."""
        self._mask_image = load_mask(config.mask_path)
        self.config = config
        self._history = History(config)
        self.reset()

    @property
    def n_tracks(self) -> int:
        """Count the tracks that are followed now, of any age."""
        return len(self._ids)

    def track(self, grey: GreyImage, stamp: int) -> TrackedFrame:
        """Follow the tracks into a new frame and return the correspondences of its pair."""
        if self._grey is not None and stamp == self._stamp:
            return self._no_pair(stamp, 'ignored a frame with the stamp of the one before',
                                 problem=True)
        fault = self._discontinuity(grey, stamp)
        if fault:
            self.reset()
        small = _at_most(grey, self.config.max_side)
        if self._grey is None:
            self._mask = _fit_mask(self._mask_image, small)
        else:
            self._follow(self._grey, small)
        self._replenish(small)
        self._grey, self._size, self._stamp = small, _size(grey), stamp
        return self._pair(stamp, fault)

    def _pair(self, stamp: int, fault: str) -> TrackedFrame:
        """Join the frame with the one a gap before it, and remember it for later ones."""
        newer = Snapshot(self._index, stamp, self._ids, self._points)
        older = self._history.partner(newer)
        waiting = self._history.waiting_for(newer)
        self._history.add(newer)
        self._index += 1
        if older is None:
            return self._no_pair(stamp, '; '.join(filter(None, (fault, waiting))),
                                 problem=bool(fault))
        if newer.index % self.config.every_n:
            return self._no_pair(stamp, f'only tracked (every_n is {self.config.every_n})')
        ids, i, j = np.intersect1d(older.ids, newer.ids, assume_unique=True, return_indices=True)
        both = Correspondences.from_arrays(self._to_image(older.points[i]),
                                           self._to_image(newer.points[j]), self._size, ids)
        return TrackedFrame(stamp, older.stamp, newer.index - older.index, both,
                            n_tracks=self.n_tracks, epoch=self.epoch)

    def _to_image(self, points: Points) -> Points:
        """Return the pixels of the image from those of the smaller one that is tracked in."""
        assert self._grey is not None
        if _size(self._grey) == self._size:
            return points
        scale = np.array(self._size, np.float32) / _size(self._grey)
        return np.asarray((points + 0.5) * scale - 0.5, np.float32)

    def _no_pair(self, stamp: int, reason: str, *, problem: bool = False) -> TrackedFrame:
        nothing = Correspondences.from_arrays([], [], self._size)
        return TrackedFrame(stamp, stamp, 0, nothing, reason, problem, self.n_tracks, self.epoch)

    def _discontinuity(self, grey: GreyImage, stamp: int) -> str:
        """Say why the frame cannot follow the one before; empty if it can."""
        if self._grey is None:
            return ''
        if _size(grey) != self._size:
            old, new = self._size, _size(grey)
            return (f'started afresh: the resolution changed from {old[0]} x {old[1]} '
                    f'to {new[0]} x {new[1]}')
        step = (stamp - self._stamp) / 1e9
        if step < 0:
            return f'started afresh: the time jumped back by {-step:.3g} s'
        if step > self.config.max_pause_s:
            return f'started afresh: no frame for {step:.3g} s'
        return ''

    def _follow(self, old: GreyImage, new: GreyImage) -> None:
        """Move the tracks into the new frame and drop those that do not find the way back."""
        if not len(self._points):
            return
        config = self.config
        more_levels = max(0, round(math.log2(max(new.shape) / 640)))
        settings = {
            'winSize': (config.window, config.window), 'maxLevel': config.levels + more_levels,
            'criteria': (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, config.iterations, 0.03),
            'minEigThreshold': MIN_EIGENVALUE}
        start = self._points[:, None, :]
        there, found, _ = cv2.calcOpticalFlowPyrLK(old, new, start, None, **settings)
        back, returned, _ = cv2.calcOpticalFlowPyrLK(new, old, there, None, **settings)
        points = there[:, 0]
        error = np.linalg.norm(back[:, 0] - self._points, axis=1)
        good = (found[:, 0] > 0) & (returned[:, 0] > 0) & (error <= config.forward_backward_px)
        good &= _inside(points, new.shape)
        index = np.flatnonzero(good)
        if self._mask is not None:
            x, y = points[index].astype(np.int64).T
            index = index[self._mask[y, x] > 0]
        index = index[self._first_of_each_spot(points[index], new.shape)]
        self._points, self._ids = points[index], self._ids[index]

    def _first_of_each_spot(self, points: Points, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Of tracks that ran together keep the oldest (ids ascend), in order."""
        spot = max(1.0, 0.5 * self.config.min_distance * max(shape))
        grid = np.floor(points / spot).astype(np.int64)
        _, first = np.unique(grid[:, 1] * (1 << 24) + grid[:, 0], return_index=True)
        return np.sort(first)

    def _replenish(self, grey: GreyImage) -> None:
        """Fill empty parts of the image with new tracks."""
        few = len(self._points) < self.config.max_tracks // 2
        corners = self._detector.detect(grey, self._points, self._mask, everywhere=few)
        ids = np.arange(self._next_id, self._next_id + len(corners))
        self._next_id += len(corners)
        self._points = np.concatenate([self._points, corners])
        self._ids = np.concatenate([self._ids, ids])


def _size(image: GreyImage) -> tuple[int, int]:
    return image.shape[1], image.shape[0]


def _inside(points: Points, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    x, y = points.T
    # Comparisons with NaN are false, so that it is outside.
    return (x >= 0) & (y >= 0) & (x <= shape[1] - 1) & (y <= shape[0] - 1)


def _at_most(grey: GreyImage, side: int) -> GreyImage:
    factor = side / max(grey.shape)
    if factor >= 1.0:
        return grey
    height, width = (max(MIN_SIDE, round(factor * n)) for n in grey.shape)
    return cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)


def _fit_mask(mask: GreyImage | None, grey: GreyImage) -> GreyImage | None:
    if mask is None or mask.shape == grey.shape:
        return mask
    return cv2.resize(mask, (grey.shape[1], grey.shape[0]), interpolation=cv2.INTER_NEAREST)
