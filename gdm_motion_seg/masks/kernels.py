# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The loops over the pixels of the working grid.

Colours are 8-bit Lab, so sums of absolute differences are whole numbers and exponentials of them
come from tables.
"""

import math

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.compilation import inner_kernel, kernel

FloatImage = npt.NDArray[np.float32]
ByteImage = npt.NDArray[np.uint8]
IdImage = npt.NDArray[np.int32]

STEPS = 32
"""Entries of the exponential's table per unit of its argument."""
LARGEST = 10
"""Largest argument in the table of exponentials."""


@kernel
def carry(flow: FloatImage, memory: FloatImage, older: ByteImage, body: IdImage,
          age: FloatImage, lab: ByteImage, colour_px: float, out: FloatImage, out_body: IdImage,
          out_age: FloatImage) -> None:
    """
    Warp the memory of the last frame to the pixels of this frame, along the flow.

    ``memory`` (h, w, 4) has log-odds, displacement in x and y, and number of frames. All are
    multiplied by the agreement of the colours (``colour_px``: standard deviation in grey levels).
    """
    h, w = lab.shape[:2]
    factor = 0.5 * STEPS / (colour_px * colour_px)
    table = np.empty(STEPS * LARGEST + 1, np.float32)
    for step in range(STEPS * LARGEST):
        table[step] = math.exp(-step / STEPS)
    table[STEPS * LARGEST] = 0.0
    for y in range(h):
        for x in range(w):
            u = min(max(x + flow[y, x, 0], 0.0), w - 1.001)
            v = min(max(y + flow[y, x, 1], 0.0), h - 1.001)
            i, j = int(u), int(v)
            a, b = u - i, v - j
            p, q, r, s = (1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b
            difference = 0.0
            for c in range(3):
                d = (p * older[j, i, c] + q * older[j, i + 1, c] + r * older[j + 1, i, c]
                     + s * older[j + 1, i + 1, c]) - lab[y, x, c]
                difference += d * d
            gate = table[min(int(factor * difference), STEPS * LARGEST)]
            for c in range(4):
                out[y, x, c] = gate * (p * memory[j, i, c] + q * memory[j, i + 1, c]
                                       + r * memory[j + 1, i, c] + s * memory[j + 1, i + 1, c])
            i, j = int(u + 0.5), int(v + 0.5)
            out_body[y, x] = body[j, i]
            out_age[y, x] = age[j, i]


@kernel
def votes(points: FloatImage, moving: npt.NDArray[np.int64], weight: FloatImage,
          flow: FloatImage, lab: ByteImage, spatial: float, colour: float, speed: float,
          out: FloatImage) -> None:
    """Add the votes of tracks for static (0) and moving (1): Gaussians in position, Lab, flow."""
    h, w = lab.shape[:2]
    reach = int(2.0 * spatial)
    table = np.exp(-np.arange(STEPS * LARGEST) / STEPS).astype(np.float32)
    a = np.float32(0.5 * STEPS / (spatial * spatial))
    b = np.float32(0.5 * STEPS / (colour * colour))
    c = np.float32(0.5 * STEPS / (speed * speed))
    most = np.float32(3.0 * STEPS)
    limit = np.float32(2.0 * STEPS)
    for n in range(len(points)):
        px, py = points[n, 0], points[n, 1]
        ix, iy = min(max(int(px + 0.5), 0), w - 1), min(max(int(py + 0.5), 0), h - 1)
        l0, l1 = np.float32(lab[iy, ix, 0]), np.float32(lab[iy, ix, 1])
        l2 = np.float32(lab[iy, ix, 2])
        f0, f1 = flow[iy, ix, 0], flow[iy, ix, 1]
        layer = out[moving[n]]
        for y in range(max(0, iy - reach), min(h, iy + reach + 1)):
            for x in range(max(0, ix - reach), min(w, ix + reach + 1)):
                d = a * ((x - px) * (x - px) + (y - py) * (y - py))
                if d > limit:
                    continue
                e0, e1, e2 = lab[y, x, 0] - l0, lab[y, x, 1] - l1, lab[y, x, 2] - l2
                g0, g1 = flow[y, x, 0] - f0, flow[y, x, 1] - f1
                d += min(most, b * (e0 * e0 + e1 * e1 + e2 * e2))
                d += min(most, c * (g0 * g0 + g1 * g1))
                layer[y, x] += weight[n] * table[int(d)]


@kernel
def smooth_edges(values: FloatImage, lab: ByteImage, reach: float, edge: float,
                 rounds: int) -> None:
    """
    Smooth in place but not across edges of the image.

    The recursive domain transform (Gastal and Oliveira, 2011); ``reach`` in pixels, ``edge`` the
    sum of absolute differences in Lab that stops it.
    """
    h, w = values.shape
    table = np.empty(766, np.float32)
    for k in range(rounds):
        share = math.sqrt(3.0) * 2.0**(rounds - k - 1) / math.sqrt(4.0**rounds - 1.0)
        for d in range(766):
            table[d] = math.exp(-math.sqrt(2.0) / (reach * share) * (1.0 + reach / edge * d))
        for y in range(h):
            for x in range(1, w):
                a = table[_difference(lab, y, x, y, x - 1)]
                values[y, x] += a * (values[y, x - 1] - values[y, x])
            for x in range(w - 2, -1, -1):
                a = table[_difference(lab, y, x, y, x + 1)]
                values[y, x] += a * (values[y, x + 1] - values[y, x])
        for y in range(1, h):
            for x in range(w):
                a = table[_difference(lab, y, x, y - 1, x)]
                values[y, x] += a * (values[y - 1, x] - values[y, x])
        for y in range(h - 2, -1, -1):
            for x in range(w):
                a = table[_difference(lab, y, x, y + 1, x)]
                values[y, x] += a * (values[y + 1, x] - values[y, x])


@inner_kernel
def _difference(lab: ByteImage, y: int, x: int, v: int, u: int) -> int:
    return int(abs(np.int64(lab[y, x, 0]) - np.int64(lab[v, u, 0]))
               + abs(np.int64(lab[y, x, 1]) - np.int64(lab[v, u, 1]))
               + abs(np.int64(lab[y, x, 2]) - np.int64(lab[v, u, 2])))


@kernel
def enlarge(sign: FloatImage, body: IdImage, out: IdImage) -> None:
    """Fill the instance image at full size; borders run where the interpolated sign changes."""
    h, w = sign.shape
    height, width = out.shape
    left, share = np.empty(width, np.int64), np.empty(width, np.float32)
    for x in range(width):
        u = min(max((x + 0.5) * w / width - 0.5, 0.0), w - 1.001)
        left[x] = int(u)
        share[x] = u - left[x]
    for y in range(height):
        v = min(max((y + 0.5) * h / height - 0.5, 0.0), h - 1.001)
        j = int(v)
        b = np.float32(v - j)
        for x in range(width):
            i, a = left[x], share[x]
            upper = sign[j, i] + a * (sign[j, i + 1] - sign[j, i])
            lower = sign[j + 1, i] + a * (sign[j + 1, i + 1] - sign[j + 1, i])
            if upper + b * (lower - upper) > 0.0:
                nearest = body[j + (b > 0.5), i + (a > 0.5)]
                # Just outside of a coarse body the id is that of the neighbour inside.
                out[y, x] = nearest if nearest else max(body[j, i], body[j, i + 1],
                                                        body[j + 1, i], body[j + 1, i + 1])
