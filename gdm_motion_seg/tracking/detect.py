# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shi-Tomasi corners, spread over the image, and the position noise of a tracked point."""

import cv2
import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.tracking.history import Points
from gdm_motion_seg.tracking.image import GreyImage

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
    order = np.argsort(-corners[:, 2], kind='stable')
    taken = ((tracks + 0.5) / scale - 0.5).astype(np.float32)
    longer = float(max(small.shape))
    chosen = _spread(corners, order, taken, max(distance * longer, 2.0), longer / REGIONS,
                     np.array(small.shape), room)
    return np.asarray((corners[chosen, :2] + 0.5) * scale - 0.5, np.float32)


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
def _spread(corners: Points, order: IntArray, tracks: Points, distance: float, region: float,
            shape: IntArray, room: int) -> IntArray:
    """Choose corners in rounds: a region may have one track more in every round."""
    fine = distance / 2.0
    count = np.zeros((int(shape[0] / region) + 1, int(shape[1] / region) + 1), np.int64)
    taken = np.zeros((int(shape[0] / fine) + 3, int(shape[1] / fine) + 3), np.bool_)
    for n in range(len(tracks)):
        x, y = max(tracks[n, 0], 0.0), max(tracks[n, 1], 0.0)
        count[min(int(y / region), len(count) - 1),
              min(int(x / region), count.shape[1] - 1)] += 1
        taken[min(int(y / fine), len(taken) - 1), min(int(x / fine), taken.shape[1] - 1)] = True
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
            if not taken[max(0, v - 2):v + 3, max(0, u - 2):u + 3].any():
                taken[v, u] = True
                count[int(y / region), int(x / region)] += 1
                chosen[found] = i
                found += 1
        limit += 1
    return chosen[:found]


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
        # The prior of 1 keeps a window without texture finite.
        xx, xy, yy = 1.0, 0.0, 1.0
        for v in range(max(1, y - WINDOW_RADIUS), min(height - 1, y + WINDOW_RADIUS + 1)):
            for u in range(max(1, x - WINDOW_RADIUS), min(width - 1, x + WINDOW_RADIUS + 1)):
                gx = 0.5 * (float(grey[v, u + 1]) - float(grey[v, u - 1]))
                gy = 0.5 * (float(grey[v + 1, u]) - float(grey[v - 1, u]))
                xx += gx * gx
                xy += gx * gy
                yy += gy * gy
        scale = GREY_NOISE * GREY_NOISE / (xx * yy - xy * xy)
        covariance[n, 0] = yy * scale
        covariance[n, 1] = -xy * scale
        covariance[n, 2] = xx * scale
    return covariance
