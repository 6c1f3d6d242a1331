# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shi-Tomasi corners, spread over the image, and the position noise of a tracked point."""

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.tracking.history import Points
from gdm_motion_seg.tracking.image import GreyImage

Mask = npt.NDArray[np.bool_]

DETECTION_SIDE = 640
"""Longest side of the image that corners are searched in, in pixels; larger ones are reduced."""
QUALITY = 0.0005
"""Weakest corner, as a share of the strongest: low, because bodies are often poor in texture."""
FLOOR = 1e-6
"""Weakest smaller eigenvalue, of grey values in [0, 1], that is a corner and not noise."""
CELL = 3
"""Side of the cells of which only the strongest corner is considered, in pixels."""
REGIONS = 24
"""Regions along the longer side: the region with the fewest tracks gets the next corner."""
MARGIN = 4
"""Pixels at the border where a Lucas-Kanade window would leave the image."""
GREY_NOISE = 6.0
"""Standard deviation of grey values that noise, blur and change of a patch cause together."""
WINDOW_RADIUS = 4
"""Radius of the window of the structure tensor in pixels: that of Lucas-Kanade."""


def detect_corners(grey: GreyImage, tracks: Points, room: int, distance: float,
                   mask: GreyImage | None = None) -> Points:
    """
    Find up to ``room`` corners, the emptiest regions of the image first.

    Parameters
    ----------
    grey : array
        The image.
    tracks : (N, 2) array
        Positions that are taken already.
    room : int
        Largest number of corners.
    distance : float
        Smallest distance from tracks and from each other, as a share of the longer side.
    mask : array, optional
        Zero where nothing may be found.

    """
    if room <= 0:
        return np.empty((0, 2), np.float32)
    small, scale = _reduced(grey)
    response = cv2.cornerMinEigenVal(small, 3)
    if mask is not None:
        response[cv2.resize(mask, small.shape[::-1], interpolation=cv2.INTER_NEAREST) == 0] = 0.0
    corners = _strongest_of_cells(response, CELL, max(FLOOR, QUALITY * float(response.max())))
    taken = ((tracks + 0.5) / scale - 0.5).astype(np.float32)
    longer = float(max(small.shape))
    fine = max(distance * longer, 2.0) / 2.0
    blocked = _blocked_cells(taken, fine, np.array(small.shape))
    # Those too near to a track need not be sorted.
    corners = _free_corners(corners, blocked, fine)
    chosen = _spread(corners, strongest_first(corners[:, 2]), taken, blocked, fine,
                     longer / REGIONS, np.array(small.shape), room)
    return np.asarray((corners[chosen, :2] + 0.5) * scale - 0.5, np.float32)


def strongest_first(response: Points) -> IntArray:
    """
    Return the indices of positive responses in descending order, the first one first in a tie.

    One sort of unique integers, the bits of a response before its index, takes a quarter of the
    time of a stable sort.
    """
    bits = np.ascontiguousarray(response, np.float32).view(np.uint32).astype(np.uint64)
    key = ((np.uint64(0xFFFFFFFF) - bits) << np.uint64(32)) | np.arange(len(bits), dtype=np.uint64)
    key.sort()
    return (key & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _reduced(grey: GreyImage) -> tuple[GreyImage, Points]:
    """Return the image that corners are searched in, and the scale (x, y) back to the image."""
    height, width = grey.shape
    factor = max(height, width) / DETECTION_SIDE
    if factor <= 1.0:
        return grey, np.ones(2, np.float32)
    size = max(1, round(width / factor)), max(1, round(height / factor))
    small = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return small, np.array([width / size[0], height / size[1]], np.float32)


@kernel
def _strongest_of_cells(response: Points, cell: int, least: float) -> Points:
    """Return rows (x, y, response) of the strongest corner of every cell."""
    height, width = response.shape
    corners = np.empty(((height // cell + 1) * (width // cell + 1), 3), np.float32)
    count = 0
    for top in range(MARGIN, height - MARGIN, cell):
        for left in range(MARGIN, width - MARGIN, cell):
            best, x, y = least, -1, -1
            for v in range(top, min(top + cell, height - MARGIN)):
                for u in range(left, min(left + cell, width - MARGIN)):
                    if response[v, u] > best:
                        best, x, y = response[v, u], u, v
            if x >= 0:
                corners[count, 0], corners[count, 1], corners[count, 2] = x, y, best
                count += 1
    return corners[:count]


@kernel
def _block(blocked: Mask, u: int, v: int) -> None:
    """Let no corner be chosen in a cell and its surroundings."""
    for row in range(max(0, v - 2), min(len(blocked), v + 3)):
        for column in range(max(0, u - 2), min(blocked.shape[1], u + 3)):
            blocked[row, column] = True


@kernel
def _blocked_cells(tracks: Points, fine: float, shape: IntArray) -> Mask:
    """Mark the cells too near to tracks; a cell has half the smallest distance as its side."""
    blocked = np.zeros((int(shape[0] / fine) + 3, int(shape[1] / fine) + 3), np.bool_)
    for n in range(len(tracks)):
        x, y = max(tracks[n, 0], 0.0), max(tracks[n, 1], 0.0)
        _block(blocked, min(int(x / fine), blocked.shape[1] - 1),
               min(int(y / fine), len(blocked) - 1))
    return blocked


@kernel
def _free_corners(corners: Points, blocked: Mask, fine: float) -> Points:
    """Return the corners that are not too near to a track."""
    free, count = np.empty_like(corners), 0
    for i in range(len(corners)):
        if not blocked[int(corners[i, 1] / fine), int(corners[i, 0] / fine)]:
            free[count] = corners[i]
            count += 1
    return free[:count]


@kernel
def _spread(corners: Points, order: IntArray, tracks: Points, blocked: Mask, fine: float,
            region: float, shape: IntArray, room: int) -> IntArray:
    """Choose corners in rounds: a region may have one track more in every round."""
    count = np.zeros((int(shape[0] / region) + 1, int(shape[1] / region) + 1), np.int64)
    for n in range(len(tracks)):
        x, y = max(tracks[n, 0], 0.0), max(tracks[n, 1], 0.0)
        count[min(int(y / region), len(count) - 1),
              min(int(x / region), count.shape[1] - 1)] += 1
    chosen, done = np.empty(room, np.int64), np.zeros(len(corners), np.bool_)
    found, left, limit = 0, len(corners), 1
    while found < room and left > 0:
        for i in order:
            if done[i] or found == room:
                continue
            x, y = corners[i, 0], corners[i, 1]
            if count[int(y / region), int(x / region)] >= limit:
                continue
            done[i] = True
            left -= 1
            u, v = int(x / fine), int(y / fine)
            if not blocked[v, u]:
                _block(blocked, u, v)
                count[int(y / region), int(x / region)] += 1
                chosen[found] = i
                found += 1
        limit += 1
    return chosen[:found]


@kernel
def first_of_each_spot(points: Points, spot: float) -> IntArray:
    """Return the indices of the first point in every square of that side, in order."""
    if len(points) == 0:
        return np.empty(0, np.int64)
    right, bottom = points[:, 0].max(), points[:, 1].max()
    seen = np.zeros((int(max(bottom, 0.0) / spot) + 1, int(max(right, 0.0) / spot) + 1), np.bool_)
    first, count = np.empty(len(points), np.int64), 0
    for n in range(len(points)):
        column, row = int(points[n, 0] / spot), int(points[n, 1] / spot)
        if not seen[row, column]:
            seen[row, column] = True
            first[count] = n
            count += 1
    return first[:count]


@kernel
def position_noise(grey: GreyImage, points: Points) -> FloatArray:
    """
    Return the covariance (xx, xy, yy) of each point's position in square pixels.

    It is the inverse structure tensor of the window, times the variance of a grey value: along an
    edge the position is uncertain.
    """
    height, width = grey.shape
    covariance = np.empty((len(points), 3))
    for n in range(len(points)):
        x, y = int(round(points[n, 0])), int(round(points[n, 1]))
        # Sums of products of differences are whole numbers: exact, and vectorized.
        sum_xx, sum_xy, sum_yy = np.int32(0), np.int32(0), np.int32(0)
        left, right = max(1, x - WINDOW_RADIUS), min(width - 1, x + WINDOW_RADIUS + 1)
        for v in range(max(1, y - WINDOW_RADIUS), min(height - 1, y + WINDOW_RADIUS + 1)):
            for u in range(left, right):
                dx = np.int32(grey[v, u + 1]) - np.int32(grey[v, u - 1])
                dy = np.int32(grey[v + 1, u]) - np.int32(grey[v - 1, u])
                sum_xx += np.int32(dx * dx)
                sum_xy += np.int32(dx * dy)
                sum_yy += np.int32(dy * dy)
        # A gradient is half a difference. The prior of 1 keeps a window without texture finite.
        xx, xy, yy = 1.0 + 0.25 * sum_xx, 0.25 * sum_xy, 1.0 + 0.25 * sum_yy
        scale = GREY_NOISE * GREY_NOISE / (xx * yy - xy * xy)
        covariance[n, 0] = yy * scale
        covariance[n, 1] = -xy * scale
        covariance[n, 2] = xx * scale
    return covariance
