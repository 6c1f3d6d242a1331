# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Corners that are spread evenly over the image and found only where it is empty."""

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.image import GreyImage

Points = npt.NDArray[np.float32]

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
        self._strongest = np.zeros(BANDS)
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
        missing = self._config.max_tracks - len(tracks)
        small, scale = _detection_image(grey)
        height, width = small.shape
        edges = np.linspace(0, height, BANDS + 1).astype(int)
        bands = range(BANDS) if everywhere else (self._next_band,)
        self._next_band = (self._next_band + 1) % BANDS
        if missing <= 0:
            return np.empty((0, 2), np.float32)
        distance = max(2, round(self._config.min_distance * max(height, width)))
        top, bottom = int(edges[bands[0]]), int(edges[bands[-1] + 1])
        # The band is searched with a rim, so that a corner on its edge is judged as within the
        # image.
        rim = distance + BLOCK
        low, high = max(0, top - rim), min(height, bottom + rim)
        response = cv2.cornerMinEigenVal(small[low:high], BLOCK, ksize=3)
        for band in bands:
            part = response[edges[band] - low:edges[band + 1] - low]
            self._strongest[band] = float(part.max()) if part.size else 0.0
        floor = max(FLOOR, self._config.quality * float(self._strongest.max()))
        cv2.threshold(response, floor, 0.0, cv2.THRESH_TOZERO, dst=response)
        _forbid(response, tracks / scale - (0, low), distance)
        if mask is not None:
            response[_shrink(mask, small.shape)[low:high] == 0] = 0.0
        peaks = _peaks(response, distance)
        peaks = peaks[(peaks[:, 1] >= top - low) & (peaks[:, 1] < bottom - low)]
        strength = response[peaks[:, 1], peaks[:, 0]]
        found = (peaks + (0, low)).astype(np.float32)
        share = max(1, round(missing * len(bands) / BANDS))
        cell = np.sqrt(height * width / self._config.max_tracks)
        chosen = _evenly(found, strength, tracks / scale, cell, missing if everywhere else
                         min(missing, 2 * share + 8))
        return np.asarray(found[chosen] * scale, np.float32)


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


def _forbid(response: npt.NDArray[np.float32], tracks: npt.NDArray[np.floating],
            distance: int) -> None:
    """Clear the response around the tracks, by one dilation instead of a disc for each."""
    x, y = np.rint(tracks).astype(np.int64).T
    inside = (x >= 0) & (x < response.shape[1]) & (y >= 0) & (y < response.shape[0])
    if not inside.any():
        return
    taken = np.zeros(response.shape, np.uint8)
    taken[y[inside], x[inside]] = 1
    response[cv2.dilate(taken, np.ones((2 * distance + 1,) * 2, np.uint8)) > 0] = 0.0


def _peaks(response: npt.NDArray[np.float32], distance: int) -> npt.NDArray[np.int64]:
    """Return (N, 2) positions x, y that are strongest within the distance."""
    around = cv2.dilate(response, np.ones((2 * distance + 1,) * 2, np.uint8))
    y, x = np.nonzero((response == around) & (response > 0.0))
    return np.stack([x, y], axis=1).astype(np.int64)


def _evenly(found: Points, strength: npt.NDArray[np.float32], tracks: npt.NDArray[np.floating],
            cell: float, wanted: int) -> npt.NDArray[np.int64]:
    """Choose corners from the emptiest cells first, the strongest of a cell first."""
    if len(found) <= wanted:
        return np.arange(len(found))
    cells = _cells(found, cell)
    keys, inverse = np.unique(cells, return_inverse=True)
    taken = np.zeros(len(keys), np.int64)
    known = np.searchsorted(keys, track_cells := _cells(tracks, cell))
    known = np.minimum(known, len(keys) - 1)
    np.add.at(taken, known[keys[known] == track_cells], 1)
    order = np.lexsort((-strength, inverse))
    first = np.searchsorted(inverse[order], np.arange(len(keys)))
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found)) - first[inverse[order]] + taken[inverse[order]]
    return np.lexsort((-strength, rank))[:wanted]


def _cells(points: npt.NDArray[np.floating], cell: float) -> npt.NDArray[np.int64]:
    grid = np.floor(points / cell).astype(np.int64)
    return grid[:, 1] * (1 << 20) + grid[:, 0]
