# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Drawing of many like things in one call: dots, thin lines, tinted regions.

OpenCV draws line after line, and thick smooth outlines slowly. These loops need a fraction of the
time and do not hold Python's lock.
"""

import math

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray

Image = npt.NDArray[np.uint8]


@kernel
def stamp(canvas: Image, at: FloatArray, offsets: IntArray, colour: Image) -> None:
    """
    Put the same dot at many places.

    Parameters
    ----------
    canvas : (H, W, 3) array
        The picture, drawn on in place.
    at : (N, 2) array
        Centres in pixels; what lies outside of the picture is left out.
    offsets : (P, 2) array
        Pixels of the dot about its centre.
    colour : (3,) array
        Blue, green, red.

    """
    height, width = canvas.shape[:2]
    for n in range(len(at)):
        # Comparisons with NaN are false.
        if not (-width < at[n, 0] < 2 * width and -height < at[n, 1] < 2 * height):
            continue
        x, y = int(round(at[n, 0])), int(round(at[n, 1]))
        for p in range(len(offsets)):
            u, v = x + offsets[p, 0], y + offsets[p, 1]
            if 0 <= u < width and 0 <= v < height:
                for c in range(3):
                    canvas[v, u, c] = colour[c]


@kernel
def draw_lines(canvas: Image, start: FloatArray, end: FloatArray, thickness: float,
               colour: Image) -> None:
    """
    Draw straight lines with smooth edges.

    Parameters
    ----------
    canvas : (H, W, 3) array
        The picture, drawn on in place.
    start, end : (N, 2) arrays
        Ends of the lines in pixels; they may lie outside of the picture.
    thickness : float
        In pixels.
    colour : (3,) array
        Blue, green, red.

    """
    for n in range(len(start)):
        x1, y1, x2, y2 = start[n, 0], start[n, 1], end[n, 0], end[n, 1]
        dx, dy = x2 - x1, y2 - y1
        if not abs(dx) + abs(dy) < 1e9:
            continue
        if abs(dx) >= abs(dy):
            _draw_line(canvas, x1, y1, x2, y2, thickness, colour)
        else:
            _draw_line(canvas.transpose(1, 0, 2), y1, x1, y2, x2, thickness, colour)


@kernel
def _draw_line(canvas: Image, x1: float, y1: float, x2: float, y2: float, thickness: float,
               colour: Image) -> None:
    """Draw a line that is flatter than 45 degrees: every column has a short run of pixels."""
    height, width = canvas.shape[:2]
    if x2 < x1:
        x1, y1, x2, y2 = x2, y2, x1, y1
    slope = (y2 - y1) / (x2 - x1) if x2 > x1 else 0.0
    # A line of this thickness across has this height within a column.
    half = 0.5 * thickness * math.sqrt(1.0 + slope * slope)
    first, last = int(math.ceil(max(x1, 0.0))), int(math.floor(min(x2, width - 1.0)))
    for u in range(first, last + 1):
        middle = y1 + slope * (u - x1)
        low, high = max(0.0, math.ceil(middle - half - 0.5)), min(
            height - 1.0, math.floor(middle + half + 0.5))
        for v in range(int(low), int(high) + 1):
            share = min(1.0, half + 0.5 - abs(v - middle))
            for c in range(3):
                old = float(canvas[v, u, c])
                canvas[v, u, c] = np.uint8(old + share * (colour[c] - old) + 0.5)


@kernel
def draw_region(canvas: Image, left: int, top: int, soft: Image, ramp: float, colour: Image,
                tint: float, thickness: float) -> None:
    """
    Tint a region and outline it, with a thin dark line on either side of the outline.

    Parameters
    ----------
    canvas : (H, W, 3) array
        The picture, drawn on in place; it holds the whole region.
    left, top : int
        Pixel of the picture at which ``soft`` begins.
    soft : (h, w) array
        255 inside of the region and 0 outside; in between it rises over ``ramp`` pixels.
    ramp : float
        More than ``thickness + 3``.
    colour : (3,) array
        Blue, green, red.
    tint : float
        Share of the colour inside.
    thickness : float
        Of the outline, in pixels.

    """
    tinted = np.empty((3, 256), np.uint8)
    for c in range(3):
        for value in range(256):
            tinted[c, value] = np.uint8(value + tint * (colour[c] - value) + 0.5)
    reach = 0.5 * thickness + 1.5
    for v in range(soft.shape[0]):
        for u in range(soft.shape[1]):
            if soft[v, u] == 0:
                continue
            depth = (soft[v, u] - 127.5) * (ramp / 255.0)
            if depth < -reach:
                continue
            x, y = left + u, top + v
            if depth > 0.0:
                for c in range(3):
                    canvas[y, x, c] = tinted[c, canvas[y, x, c]]
                if depth > reach:
                    continue
            dark = min(1.0, reach - abs(depth))
            line = min(1.0, max(0.0, reach - 1.0 - abs(depth)))
            for c in range(3):
                canvas[y, x, c] = np.uint8(
                    canvas[y, x, c] * (1.0 - dark) * (1.0 - line) + colour[c] * line + 0.5)
