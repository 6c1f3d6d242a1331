# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Corners that are spread evenly over the image and found only where it is empty."""

from collections import deque

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.image import GreyImage

Points = npt.NDArray[np.float32]
Response = npt.NDArray[np.float32]

DETECTION_SIDE = 640
"""Longest side of the image that corners are searched in; larger images are made smaller."""
BANDS = 4
"""An image is searched in this many bands, one a frame: the same work for every frame."""
BLOCK = 5
"""Side of the neighbourhood whose structure tensor is taken."""
FLOOR = 1e-6
"""Weakest smaller eigenvalue, of grey values in [0, 1], that is a corner and not noise."""


class CornerDetector:
    """Finds new corners (Shi and Tomasi), in one band of the image a frame."""

    def __init__(self, config: TrackingConfig) -> None:
        """Make a detector that has seen nothing."""
        self._config = config
        self._strongest: deque[float] = deque(maxlen=BANDS)
        self._next_band = 0

    def detect(self, grey: GreyImage, tracks: Points, mask: GreyImage | None,
               everywhere: bool = False) -> Points:
        """
        Find corners away from the tracks, at most as many as are missing.

        Parameters
        ----------
        grey :
            The image.
        tracks :
            (N, 2) pixels that are taken already.
        mask :
            Zero where nothing may be found; None for the whole image.
        everywhere :
            Search all bands instead of the next one.

        """
        if len(tracks) >= self._config.max_tracks:
            return np.empty((0, 2), np.float32)
        small, scale = _detection_image(grey)
        distance = max(2, round(self._config.min_distance * max(small.shape)))
        top, bottom = self._next_rows(small.shape[0], everywhere)
        # The band has a rim, so that a corner on its edge is judged as within the image.
        rim = distance + BLOCK
        low, high = max(0, top - rim), min(small.shape[0], bottom + rim)
        response = cv2.cornerMinEigenVal(small[low:high], BLOCK, ksize=3)
        self._clear_weak(response)
        _clear_around(response, tracks / scale - (0, low), distance)
        if mask is not None:
            response[_shrink(mask, small.shape)[low:high] == 0] = 0.0
        peaks = _peaks(response, distance)
        peaks = peaks[(peaks[:, 1] >= top - low) & (peaks[:, 1] < bottom - low)]
        strength = response[peaks[:, 1], peaks[:, 0]]
        found = (peaks + (0, low)).astype(np.float32) * np.float32(scale)
        return found[self._choose(found, strength, tracks, grey.shape)]

    def _next_rows(self, height: int, everywhere: bool) -> tuple[int, int]:
        """Return the rows of the band whose turn it is, or all."""
        if everywhere:
            return 0, height
        band = self._next_band
        self._next_band = (band + 1) % BANDS
        return height * band // BANDS, height * (band + 1) // BANDS

    def _clear_weak(self, response: Response) -> None:
        """Clear what is weak beside the strongest corner of the last bands."""
        self._strongest.append(float(response.max()))
        floor = max(FLOOR, self._config.quality * max(self._strongest))
        cv2.threshold(response, floor, 0.0, cv2.THRESH_TOZERO, dst=response)

    def _choose(self, found: Points, strength: Response, tracks: Points,
                shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Choose corners from the emptiest cells first, the strongest of a cell first."""
        limit = self._config.max_tracks
        cell = float(np.sqrt(shape[0] * shape[1] / limit))
        order = np.argsort(-strength, kind='stable')
        rank = _rank_in_cell(np.concatenate([tracks, found[order]]), cell)[len(tracks):]
        return order[np.argsort(rank, kind='stable')[:max(0, limit - len(tracks))]]


def _rank_in_cell(points: Points, cell: float) -> npt.NDArray[np.int64]:
    """Count the points of each cell, 0, 1, …, in the order in which they are given."""
    grid = np.floor(points / cell).astype(np.int64)
    keys = grid[:, 1] * (1 << 32) + grid[:, 0]
    order = np.argsort(keys, kind='stable')
    ordered = keys[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[:len(keys)]
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(keys)), 0))
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys)) - first
    return rank


def _detection_image(grey: GreyImage) -> tuple[GreyImage, float]:
    """Return the image that corners are searched in, and the scale back to the image."""
    factor = max(grey.shape) / DETECTION_SIDE
    if factor <= 1.0:
        return grey, 1.0
    size = (max(1, round(grey.shape[1] / factor)), max(1, round(grey.shape[0] / factor)))
    return cv2.resize(grey, size, interpolation=cv2.INTER_AREA), factor


def _shrink(mask: GreyImage, shape: tuple[int, ...]) -> GreyImage:
    if mask.shape == shape:
        return mask
    return cv2.resize(mask, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST)


def _clear_around(response: Response, tracks: npt.NDArray[np.floating], distance: int) -> None:
    """Clear the response around the tracks, by one dilation instead of a disc for each."""
    x, y = np.rint(tracks).astype(np.int64).T
    inside = (x >= 0) & (x < response.shape[1]) & (y >= 0) & (y < response.shape[0])
    if not inside.any():
        return
    taken = np.zeros(response.shape, np.uint8)
    taken[y[inside], x[inside]] = 1
    response[cv2.dilate(taken, np.ones((2 * distance + 1,) * 2, np.uint8)) > 0] = 0.0


def _peaks(response: Response, distance: int) -> npt.NDArray[np.int64]:
    """Return (N, 2) positions x, y that are strongest within the distance."""
    around = cv2.dilate(response, np.ones((2 * distance + 1,) * 2, np.uint8))
    y, x = np.nonzero((response == around) & (response > 0.0))
    return np.stack([x, y], axis=1).astype(np.int64)
