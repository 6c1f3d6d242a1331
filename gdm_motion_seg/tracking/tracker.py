# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Feature tracking by pyramidal Lucas-Kanade from frame to frame."""

import math

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import IntArray
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.detect import (
    detect_corners, first_of_each_spot, nearest, position_noise)
from gdm_motion_seg.tracking.image import GreyImage, MIN_SIDE
from gdm_motion_seg.tracking.window import History, Points, TrackedFrame, Window

WINDOW = (9, 9)
"""Lucas-Kanade window in pixels: 2000 points take 17 ms, against 40 ms with a side of 13."""
LEVELS = 4
"""Pyramid levels up to 640 px, one more for each doubling; for displacements of about 60 px."""
SAVED_LEVELS = 2
"""Number of levels that are omitted if tracks start at predicted positions. This is faster, and
fewer tracks jump to a similar corner nearby."""
MOST_LOST = 0.5
"""If a larger share of the tracks is lost, the prediction was wrong: all levels are searched
again, from the last positions."""
STEP_RATIO = 0.5, 3.0
"""Limits of the ratio of two time steps for which a prediction is used."""
FORWARD_BACKWARD_PX = 0.5
"""Largest forward-backward distance in pixels; a track with a larger one is dropped."""
MIN_EIGENVALUE = 1e-5
"""Smallest minimal eigenvalue of the structure tensor of a tracked window."""
NO_ERROR = cv2.OPTFLOW_LK_GET_MIN_EIGENVALS
"""Return the eigenvalues instead of the window errors, which take a quarter of the time; the
positions are the same."""
BORDER = 3
"""Tracks nearer to the border than this, in pixels, are dropped."""
MAX_SIDE = 1280
"""Longest image side for tracking, in pixels; larger images are reduced. Corners are found as
well, and their positions are hardly less accurate."""
EVIDENCE_GAP_S = 0.5
"""Second gap in seconds, for slow bodies; the gap of the pair is for fast ones."""


class FeatureTracker:
    """
    Tracks corners from frame to frame and returns windows of several gaps.

    Tracking in short steps covers large displacements, at a cost per frame that does not depend on
    the gap.
    """

    def __init__(self, config: TrackingConfig | None = None) -> None:
        """Make a tracker without tracks; raises InputError if the mask cannot be read."""
        self.epoch = 0
        """Number of restarts."""
        self.share = 1.0
        """Share of ``max_tracks`` that is used; it may change between two frames."""
        self._next_id = 0
        self._configure(config or TrackingConfig())

    def _configure(self, config: TrackingConfig) -> None:
        mask: GreyImage | None = None
        if config.mask_path:
            from gdm_motion_seg.tracking.mask_file import load_mask  # most robots have no mask
            mask = load_mask(config.mask_path)
        self.config, self._mask_image = config, mask
        self._history = History(max(config.gap_s, EVIDENCE_GAP_S) * 1.1, config.frame_gap)
        self._forget()

    def _forget(self) -> None:
        self._grey: GreyImage | None = None
        self._mask: GreyImage | None = None
        self._size = (1, 1)
        self._scale = np.ones(2)
        self._stamp = 0
        self._index = 0
        self._ids: IntArray = np.empty(0, np.int64)
        self._points: Points = np.empty((0, 2), np.float32)
        self._steps: Points = np.empty((0, 2), np.float32)
        self._step_ns = 0
        self._history.clear()

    def reset(self) -> None:
        """Forget all tracks; their ids are not used again."""
        self.epoch += 1
        self._forget()

    def reconfigure(self, config: TrackingConfig) -> None:
        """Use new settings and restart; raises InputError if the mask cannot be read."""
        self._configure(config)
        self.epoch += 1

    @property
    def max_tracks(self) -> int:
        """Return the current limit of the number of tracks."""
        return max(1, round(self.share * self.config.max_tracks))

    @property
    def n_tracks(self) -> int:
        """Return the number of current tracks, of any age."""
        return len(self._ids)

    def track(self, grey: GreyImage, stamp: int) -> TrackedFrame:
        """Track into a new frame and return its window."""
        if self._grey is not None and stamp == self._stamp:
            return self.without_pair(
                stamp, 'ignored a frame with the same stamp as the previous one', problem=True)
        fault = self._discontinuity(grey, stamp)
        if fault:
            self.reset()
        small = _at_most(grey, MAX_SIDE)
        if self._grey is None:
            self._mask = _fit_mask(self._mask_image, small)
        else:
            if self.n_tracks > self.max_tracks:
                # Tracks are dropped evenly, over ages and positions.
                index = np.linspace(0, self.n_tracks - 1, self.max_tracks).astype(np.int64)
                self._take(index, self._points, self._steps)
            self._follow(self._grey, small, stamp - self._stamp)
        self._replenish(small)
        self._grey, self._size, self._stamp = small, _size(grey), stamp
        self._scale = np.array(self._size) / _size(small)
        self._history.add(stamp, self._index, self._points)
        self._index += 1
        return self._window(stamp, fault)

    def without_pair(self, stamp: int, reason: str, *, problem: bool = False) -> TrackedFrame:
        """Return a frame without a pair, with the reason."""
        nothing = Window(np.empty((0, 2)), np.empty((1, 0, 2)), (0.0,), np.empty((0, 3)),
                         np.empty(0, np.int64), self._size)
        return TrackedFrame(stamp, stamp, 0, nothing, reason, problem, self.n_tracks, self.epoch)

    def _window(self, stamp: int, fault: str) -> TrackedFrame:
        """Collect the positions of the tracks of the pair at each gap."""
        history, config = self._history, self.config
        index = self._index - 1
        row = history.frames_before(index, config.frame_gap) if config.frame_gap else \
            history.frame_before(stamp, config.gap_s)
        if row is None:
            waiting = self._waiting_for(stamp)
            return self.without_pair(stamp, '; '.join(filter(None, (fault, waiting))),
                                     problem=bool(fault))
        if index % config.every_n:
            return self.without_pair(stamp, f'tracked only (every_n is {config.every_n})')
        rows = [row]
        other = history.frame_before(stamp, EVIDENCE_GAP_S)
        if other is not None and other != row:
            rows.append(other)
        spans = np.flatnonzero(np.isfinite(history.at(row)[:, 0]))
        assert self._grey is not None
        window = Window(
            x=self._to_image(self._points[spans]),
            before=np.stack([self._to_image(history.at(r)[spans]) for r in rows]),
            seconds=tuple((stamp - history.stamps[r]) / 1e9 for r in rows),
            covariance=position_noise(self._grey, self._points[spans]) * self._scale[0] ** 2,
            ids=self._ids[spans], image_size=self._size)
        return TrackedFrame(stamp, history.stamps[row], index - history.indices[row], window,
                            n_tracks=self.n_tracks, epoch=self.epoch)

    def _waiting_for(self, stamp: int) -> str:
        """Return what is missing for a pair."""
        if self.config.frame_gap:
            missing = self.config.frame_gap - (self._index - 1 - self._history.indices[0])
            return f'waiting for {missing} more frame{"s" if missing > 1 else ""}'
        missing_s = self.config.gap_s - (stamp - self._history.stamps[0]) / 1e9
        return f'waiting for {max(missing_s, 0.0):.2f} s more'

    def _to_image(self, points: Points) -> npt.NDArray[np.float64]:
        """Convert positions in the tracked image to pixels of the full image."""
        return (points.astype(np.float64) + 0.5) * self._scale - 0.5

    def _discontinuity(self, grey: GreyImage, stamp: int) -> str:
        """Return why tracking cannot continue from the previous frame; empty if it can."""
        if self._grey is None:
            return ''
        if _size(grey) != self._size:
            old, new = self._size, _size(grey)
            return (f'restarted: the resolution changed from {old[0]} x {old[1]} '
                    f'to {new[0]} x {new[1]}')
        step = (stamp - self._stamp) / 1e9
        if step < 0:
            return f'restarted: the time jumped back by {-step:.3g} s'
        if step > self.config.max_pause_s:
            return f'restarted: no frame for {step:.3g} s'
        return ''

    def _take(self, index: IntArray, points: Points, steps: Points) -> None:
        """Keep some of the tracks, with these positions and steps."""
        self._points, self._steps, self._ids = points[index], steps[index], self._ids[index]
        self._history.keep(index)

    def _follow(self, old: GreyImage, new: GreyImage, step_ns: int) -> None:
        """Move the tracks into the new frame and drop those that are lost."""
        if not len(self._points):
            return
        levels = LEVELS + max(0, round(math.log2(max(new.shape) / 640)))
        there, good = self._points, np.zeros(len(self._points), np.bool_)
        if self._step_ns:
            ratio = np.float32(min(max(step_ns / self._step_ns, STEP_RATIO[0]), STEP_RATIO[1]))
            there, good = _flow(old, new, self._points, self._points + ratio * self._steps,
                                levels - SAVED_LEVELS)
        if good.mean() < 1.0 - MOST_LOST:
            there, good = _flow(old, new, self._points, self._points.copy(), levels)
        index = np.flatnonzero(good)
        if self._mask is not None:
            x, y = there[index].astype(np.int64).T
            index = index[self._mask[y, x] > 0]
        # Of tracks at the same position the oldest is kept: ids ascend.
        spot = np.float32(max(1.0, 0.25 * self.config.min_distance * max(new.shape)))
        index = index[first_of_each_spot(there[index], spot, new.shape)]
        self._take(index, there, there - self._points)
        self._step_ns = step_ns

    def _replenish(self, grey: GreyImage) -> None:
        """Add new tracks in empty parts of the image."""
        corners = detect_corners(grey, self._points, self.max_tracks - len(self._points),
                                 self.config.min_distance, self._mask)
        ids = np.arange(self._next_id, self._next_id + len(corners))
        self._next_id += len(corners)
        # A new track is expected to move like the nearest one.
        steps = np.zeros_like(corners)
        if len(self._points):
            steps = self._steps[nearest(self._points, corners)]
        self._steps = np.concatenate([self._steps, steps])
        self._points = np.concatenate([self._points, corners])
        self._ids = np.concatenate([self._ids, ids])


def _flow(old: GreyImage, new: GreyImage, points: Points, guess: Points, levels: int
          ) -> tuple[Points, npt.NDArray[np.bool_]]:
    """Return the points in the new image, and which of them pass the forward-backward check."""
    settings = {'winSize': WINDOW, 'minEigThreshold': MIN_EIGENVALUE,
                'flags': cv2.OPTFLOW_USE_INITIAL_FLOW | NO_ERROR,
                'criteria': (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 15, 0.03)}
    there, found, _ = cv2.calcOpticalFlowPyrLK(old, new, points, guess, maxLevel=levels,
                                               **settings)
    # Backwards, from the known position, two levels suffice, which halves the time.
    back, returned, _ = cv2.calcOpticalFlowPyrLK(new, old, there, points.copy(), maxLevel=1,
                                                 **settings)
    error = np.abs(back - points).max(axis=1)
    good = (found[:, 0] > 0) & (returned[:, 0] > 0) & (error < FORWARD_BACKWARD_PX)
    # Comparisons with NaN are false, so NaN is outside.
    inside = (there >= BORDER) & (there <= np.array(_size(new)) - 1 - BORDER)
    return there, good & inside.all(axis=1)


def _size(image: GreyImage) -> tuple[int, int]:
    return image.shape[1], image.shape[0]


def _at_most(grey: GreyImage, side: int) -> GreyImage:
    factor = side / max(grey.shape)
    if factor >= 1.0:
        return grey
    height, width = (max(MIN_SIDE, round(factor * n)) for n in grey.shape)
    # Down to a half, linear interpolation also reads every pixel, in a third of the time.
    how = cv2.INTER_LINEAR_EXACT if factor >= 0.5 else cv2.INTER_AREA
    return np.asarray(cv2.resize(grey, (width, height), interpolation=how))


def _fit_mask(mask: GreyImage | None, grey: GreyImage) -> GreyImage | None:
    if mask is None or mask.shape == grey.shape:
        return mask
    return np.asarray(cv2.resize(mask, grey.shape[::-1], interpolation=cv2.INTER_NEAREST))
