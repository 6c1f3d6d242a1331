# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Drawing of many dots in one call, and of tinted regions.

OpenCV draws one dot per call, and thick smooth outlines slowly. These loops take a fraction of the
time and release the GIL.
"""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray

Image = npt.NDArray[np.uint8]


@kernel
def stamp(canvas: Image, at: FloatArray, offsets: IntArray, colour: Image) -> None:
    """
    Draw the same dot at many positions, in place.

    ``at`` (N, 2) are the centres in pixels; parts outside of the picture are not drawn.
    ``offsets`` (P, 2) are the pixels of the dot about its centre.
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
def draw_region(canvas: Image, left: int, top: int, soft: Image, ramp: float, colour: Image,
                tint: float, thickness: float) -> None:
    """
    Tint a region in place and outline it, with a thin dark line on either side of the outline.

    ``soft`` (h, w) begins at the pixel (left, top) of the picture, which holds all of it: 255
    inside of the region and 0 outside; in between it rises over ``ramp`` pixels, more than
    ``thickness + 3``. ``tint`` is the share of the colour inside.
    """
    tinted = np.empty((3, 256), np.uint8)
    for c in range(3):
        for value in range(256):
            tinted[c, value] = np.uint8(value + tint * (colour[c] - value) + 0.5)
    reach = 0.5 * thickness + 1.5
    # The values of ``soft`` at that distance from the outline, outside and inside.
    outer, inner = int(128.5 - reach * 255.0 / ramp), int(127.5 + reach * 255.0 / ramp)
    for v in range(soft.shape[0]):
        for u in range(soft.shape[1]):
            value = int(soft[v, u])
            if value < outer:
                continue
            x, y = left + u, top + v
            if value > 127:
                for c in range(3):
                    canvas[y, x, c] = tinted[c, canvas[y, x, c]]
                if value > inner:
                    continue
            depth = (value - 127.5) * (ramp / 255.0)
            dark = min(1.0, reach - abs(depth))
            line = min(1.0, max(0.0, reach - 1.0 - abs(depth)))
            for c in range(3):
                canvas[y, x, c] = np.uint8(
                    canvas[y, x, c] * (1.0 - dark) * (1.0 - line) + colour[c] * line + 0.5)
