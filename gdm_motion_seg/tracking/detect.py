# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shi-Tomasi corners, spread over the image, and the position noise of a tracked point."""

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.compilation import inlined, inner_kernel, kernel
from gdm_motion_seg.tracking.image import GreyImage
from gdm_motion_seg.tracking.window import Points

Indices = npt.NDArray[np.int32]

DETECTION_SIDE = 640
"""Longest side of the image in which corners are searched, in pixels; larger ones are reduced."""
QUALITY = 0.0005
"""Weakest corner, as a share of the strongest: low, because bodies often have little texture."""
FLOOR = 1e-6
"""Smallest minimal eigenvalue of a corner, for grey values in [0, 1]; below it is noise."""
CELL = 3
"""Side of the cells in pixels; only the strongest corner of a cell is considered."""
REGIONS = 24
"""Regions along the longer side; the region with the fewest tracks gets the next corner."""
MARGIN = 4
"""Width of the border in pixels in which a Lucas-Kanade window would leave the image."""
GREY_NOISE = 6.0
"""Standard deviation of grey values from noise, blur and change of a patch together."""
WINDOW_RADIUS = 4
"""Radius of the window of the structure tensor in pixels: that of Lucas-Kanade."""


def detect_corners(grey: GreyImage, tracks: Points, room: int, distance: float,
                   mask: GreyImage | None = None) -> Points:
    """
    Find up to ``room`` corners, the emptiest regions of the image first.

    ``tracks`` (N, 2) are positions of existing tracks, ``distance`` is the smallest one from them
    and from each other, as a share of the longer side; ``mask`` is zero where no corner may be
    found.
    """
    if room <= 0:
        return np.empty((0, 2), np.float32)
    small, scale = _reduced(grey)
    response = cv2.cornerMinEigenVal(small, 3)
    if mask is not None:
        response[cv2.resize(mask, small.shape[::-1], interpolation=cv2.INTER_NEAREST) == 0] = 0.0
    taken = ((tracks + 0.5) / scale - 0.5).astype(np.float32)
    longer = float(max(small.shape))
    corners = _spread(response, max(FLOOR, QUALITY * float(response.max())), taken,
                      max(distance * longer, 2.0) / 2.0, longer / REGIONS, room)
    return np.asarray((corners + 0.5) * scale - 0.5, np.float32)


def _reduced(grey: GreyImage) -> tuple[GreyImage, Points]:
    """Return the image in which corners are searched, and the scale (x, y) to the full image."""
    height, width = grey.shape
    factor = max(height, width) / DETECTION_SIDE
    if factor <= 1.0:
        return grey, np.ones(2, np.float32)
    size = max(1, round(width / factor)), max(1, round(height / factor))
    small = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return small, np.array([width / size[0], height / size[1]], np.float32)


@kernel
def _spread(response: Points, least: float, tracks: Points, fine: float, region: float,
            room: int) -> Points:
    """
    Choose up to ``room`` corners in rounds: a region may have one track more in every round.

    ``response`` (H, W) is the strength of a corner at each pixel, ``least`` the weakest that
    counts; ``fine`` is half of the smallest distance, the side of the cells that tracks block, and
    ``region`` the side of a region, both in pixels.
    """
    height, width = response.shape
    blocked = np.zeros((int(height / fine) + 3, int(width / fine) + 3), np.bool_)
    rows, columns = int(height / region) + 1, int(width / region) + 1
    counts = np.zeros(rows * columns, np.int64)
    for n in range(len(tracks)):
        x, y = max(tracks[n, 0], 0.0), max(tracks[n, 1], 0.0)
        _block(blocked, min(int(x / fine), blocked.shape[1] - 1),
               min(int(y / fine), len(blocked) - 1))
        counts[min(int(y / region), rows - 1) * columns
               + min(int(x / region), columns - 1)] += 1
    first, strength, pixel, cell = _corners_by_region(response, least, blocked, fine, region,
                                                      rows, columns)
    raveled = blocked.ravel()
    left, order = np.empty(len(counts), np.int64), np.empty(len(counts), np.int64)
    for r in range(len(left)):
        left[r] = first[r + 1] - first[r]
    chosen = np.empty((room, 2), np.float32)
    found, limit, more = 0, 1, True
    while found < room and more:
        n_round, more = 0, False
        for r in range(len(left)):
            if left[r] > 0 and counts[r] < limit:
                left[r] = _strongest_first(strength, pixel, cell, first[r], left[r], raveled)
                if left[r] > 0:
                    at = cell[first[r]]
                    _block(blocked, at % blocked.shape[1], at // blocked.shape[1])
                    counts[r] += 1
                    order[n_round] = first[r]
                    n_round += 1
            more = more or left[r] > 0
        if n_round > room - found:
            _strongest_to_front(order, n_round, strength, room - found)
        for k in range(min(n_round, room - found)):
            i = order[k]
            chosen[found, 0], chosen[found, 1] = pixel[i] % width, pixel[i] // width
            found += 1
        limit += 1
    return chosen[:found]


@inlined
def _strongest_to_front(order: IntArray, n: int, strength: Points, count: int) -> None:
    """Bring the strongest of n corners to the front, in place; a sort compiles for a second."""
    for k in range(count):
        best = k
        for i in range(k + 1, n):
            if strength[order[i]] > strength[order[best]]:
                best = i
        order[k], order[best] = order[best], order[k]


@inner_kernel
def _block(blocked: Mask, u: int, v: int) -> None:
    """Block a cell and its surroundings for corners."""
    for row in range(max(0, v - 2), min(len(blocked), v + 3)):
        for column in range(max(0, u - 2), min(blocked.shape[1], u + 3)):
            blocked[row, column] = True


@inlined
def _corners_by_region(response: Points, least: float, blocked: Mask, fine: float, region: float,
                       rows: int, columns: int) -> tuple[IntArray, Points, Indices, Indices]:
    """
    Collect the strongest corner of every cell that is not blocked, ordered by region.

    Returns where each region begins, and the end of the last one; the response of each corner, and
    its indices into the raveled image and into ``blocked``.
    """
    height, width = response.shape
    size = (height // CELL + 1) * (width // CELL + 1)
    strength, where = np.empty(size, np.float32), np.empty(size, np.int32)
    pixel, cell = np.empty(size, np.int32), np.empty(size, np.int32)
    row_of, region_row = np.empty(height, np.int64), np.empty(height, np.int64)
    column_of, region_column = np.empty(width, np.int64), np.empty(width, np.int64)
    for v in range(height):
        row_of[v], region_row[v] = int(v / fine), int(v / region) * columns
    for u in range(width):
        column_of[u], region_column[u] = int(u / fine), int(u / region)
    first = np.zeros(rows * columns + 1, np.int64)
    count = 0
    for top in range(MARGIN, height - MARGIN - CELL + 1, CELL):
        for left in range(MARGIN, width - MARGIN - CELL + 1, CELL):
            # Most cells are blocked as a whole: two opposite corners tell.
            if (blocked[row_of[top], column_of[left]]
                    and blocked[row_of[top + CELL - 1], column_of[left + CELL - 1]]):
                continue
            best, x, y = np.float32(least), 0, 0
            for v in range(top, top + CELL):
                for u in range(left, left + CELL):
                    if response[v, u] > best:
                        best, x, y = response[v, u], u, v
            if x > 0 and not blocked[row_of[y], column_of[x]]:
                strength[count], pixel[count] = best, y * width + x
                cell[count] = row_of[y] * blocked.shape[1] + column_of[x]
                where[count] = region_row[y] + region_column[x]
                first[where[count] + 1] += 1
                count += 1
    # Counting sort; numpy's functions would take a second to compile.
    for r in range(1, len(first)):
        first[r] += first[r - 1]
    filled, by_strength = np.empty(len(first), np.int64), np.empty(count, np.float32)
    for r in range(len(first)):
        filled[r] = first[r]
    by_pixel, by_cell = np.empty(count, np.int32), np.empty(count, np.int32)
    for i in range(count):
        j = filled[where[i]]
        filled[where[i]] += 1
        by_strength[j], by_pixel[j], by_cell[j] = strength[i], pixel[i], cell[i]
    return first, by_strength, by_pixel, by_cell


@inlined
def _strongest_first(strength: Points, pixel: Indices, cell: Indices, begin: int, count: int,
                     blocked: Mask) -> int:
    """
    Drop corners in blocked cells, put the strongest of the others first; return their number.

    The corners of a region are ``count`` entries from ``begin`` on.
    """
    best, free = begin, begin
    for i in range(begin, begin + count):
        if not blocked[cell[i]]:
            strength[free], pixel[free], cell[free] = strength[i], pixel[i], cell[i]
            if strength[free] > strength[best]:
                best = free
            free += 1
    strength[begin], strength[best] = strength[best], strength[begin]
    pixel[begin], pixel[best] = pixel[best], pixel[begin]
    cell[begin], cell[best] = cell[best], cell[begin]
    return free - begin


@kernel
def first_of_each_spot(points: Points, spot: float, shape: tuple[int, int]) -> IntArray:
    """Return the indices of the first point in every square of that side, in order."""
    seen = np.zeros((int(shape[0] / spot) + 1, int(shape[1] / spot) + 1), np.bool_)
    first, count = np.empty(len(points), np.int64), 0
    for n in range(len(points)):
        column, row = int(points[n, 0] / spot), int(points[n, 1] / spot)
        if not seen[row, column]:
            seen[row, column] = True
            first[count] = n
            count += 1
    return first[:count]


@kernel
def nearest(points: Points, to: Points) -> IntArray:
    """Return the index of the point that is nearest to each of some places."""
    index = np.empty(len(to), np.int64)
    for i in range(len(to)):
        best = np.float32(np.inf)
        for n in range(len(points)):
            dx, dy = points[n, 0] - to[i, 0], points[n, 1] - to[i, 1]
            distance = dx * dx + dy * dy
            if distance < best:
                best, index[i] = distance, n
    return index


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
        # Products of differences are integers, so their sums are exact and can be vectorized.
        sum_xx, sum_xy, sum_yy = np.int32(0), np.int32(0), np.int32(0)
        left, right = max(1, x - WINDOW_RADIUS), min(width - 1, x + WINDOW_RADIUS + 1)
        for v in range(max(1, y - WINDOW_RADIUS), min(height - 1, y + WINDOW_RADIUS + 1)):
            for u in range(left, right):
                dx = np.int32(grey[v, u + 1]) - np.int32(grey[v, u - 1])
                dy = np.int32(grey[v + 1, u]) - np.int32(grey[v - 1, u])
                sum_xx += np.int32(dx * dx)
                sum_xy += np.int32(dx * dy)
                sum_yy += np.int32(dy * dy)
        # A gradient is half a difference. The prior of 1 keeps the noise finite without texture.
        xx, xy, yy = 1.0 + 0.25 * sum_xx, 0.25 * sum_xy, 1.0 + 0.25 * sum_yy
        scale = GREY_NOISE * GREY_NOISE / (xx * yy - xy * xy)
        covariance[n, 0] = yy * scale
        covariance[n, 1] = -xy * scale
        covariance[n, 2] = xx * scale
    return covariance
