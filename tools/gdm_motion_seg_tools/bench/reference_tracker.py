# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A plain tracker whose time is the unit of other times: 500 corners, Lucas-Kanade, windows of 13.

Times in benchmarks are given as multiples of its time in the same run (``..._over_t500``), so that
figures from different machines can be compared.
"""

import cv2
import numpy as np
import numpy.typing as npt

TRACKS, WINDOW, LEVELS, ITERATIONS = 500, 13, 3, 12
BACK_PX = 0.4
"""Largest forward-backward distance in pixels."""
DISTANCE = 0.012
"""Distance between corners, as a share of the longer side."""
QUALITY = 0.005
"""Weakest corner, as a share of the strongest."""
BANDS = 4
"""Number of bands of the image; corners are searched in one band per frame."""
SIDE = 640
"""Longer side of the image in which corners are searched."""

Grey = npt.NDArray[np.uint8]
Points = npt.NDArray[np.float32]


class ReferenceTracker:
    """Tracks corners from frame to frame, with a forward-backward check, and adds new ones."""

    def __init__(self) -> None:
        """Begin without tracks."""
        self._grey: Grey | None = None
        self._points: Points = np.empty((0, 2), np.float32)
        self._band = 0

    def track(self, grey: Grey) -> Points:
        """Track into the next frame; returns the tracks."""
        if self._grey is not None and len(self._points):
            self._points = _followed(self._grey, grey, self._points)
        self._points = np.concatenate((self._points, self._corners(grey)))
        self._grey = grey
        return self._points

    def _corners(self, grey: Grey) -> Points:
        room = TRACKS - len(self._points)
        if room <= 0:
            return np.empty((0, 2), np.float32)
        scale = max(1.0, max(grey.shape) / SIDE)
        size = round(grey.shape[1] / scale), round(grey.shape[0] / scale)
        small = grey if scale == 1.0 else cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
        bands = BANDS if len(self._points) >= TRACKS // 2 else 1
        band = self._band % bands
        self._band += 1
        top, bottom = (small.shape[0] * k // bands for k in (band, band + 1))
        response = cv2.cornerMinEigenVal(small[top:bottom], 5, ksize=3)
        distance = max(2, round(DISTANCE * max(small.shape)))
        disc = np.ones((2 * distance + 1,) * 2, np.uint8)
        taken = np.zeros(response.shape, np.uint8)
        x, y = np.rint(self._points / scale - (0, top)).astype(np.int64).T
        inside = (x >= 0) & (x < taken.shape[1]) & (y >= 0) & (y < taken.shape[0])
        taken[y[inside], x[inside]] = 1
        response[cv2.dilate(taken, disc) > 0] = 0.0
        response[response < QUALITY * response.max()] = 0.0
        y, x = np.nonzero((response == cv2.dilate(response, disc)) & (response > 0.0))
        best = np.argsort(-response[y, x], kind='stable')[:room]
        return np.asarray((np.column_stack((x, y + top))[best] * scale).astype(np.float32))


def _followed(old: Grey, new: Grey, points: Points) -> Points:
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, ITERATIONS, 0.03)
    start = points[:, None, :]
    there, found, _ = cv2.calcOpticalFlowPyrLK(old, new, start, None, winSize=(WINDOW, WINDOW),
                                               maxLevel=LEVELS, criteria=criteria)
    back, returned, _ = cv2.calcOpticalFlowPyrLK(new, old, there, None, winSize=(WINDOW, WINDOW),
                                                 maxLevel=LEVELS, criteria=criteria)
    good = (found & returned).ravel() > 0
    good &= np.linalg.norm(back - start, axis=2).ravel() <= BACK_PX
    ends = there[:, 0]
    good &= (ends >= 0).all(axis=1) & (ends <= (new.shape[1] - 1, new.shape[0] - 1)).all(axis=1)
    return np.asarray(ends[good], np.float32)
