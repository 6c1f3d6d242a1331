# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The rasteriser: textured quadrilaterals, perspective, hidden surfaces, filtered textures.

With M = K [e_u e_v origin] (in camera axes) a point (s, t) of a quadrilateral is seen at M (s, t, 1) =
z (x, y, 1). Hence inverse(M) (x, y, 1) = (s, t, 1) / z: three functions that are linear in the pixel, and the third
of them is the inverse depth for the z-buffer.
"""

from numba import njit
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
NEAR = 0.05
"""Depth in metres before which nothing is drawn."""


def inverse_maps(origin: FloatArray, e_u: FloatArray, e_v: FloatArray, camera: FloatArray
                 ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return inverse(M) of every quadrilateral, and whether it can be seen at all (not edge-on)."""
    m = camera @ np.stack((e_u, e_v, origin), axis=-1)
    scale = np.linalg.norm(m, axis=(1, 2))
    seen = np.abs(np.linalg.det(m)) > 1e-9 * scale**3
    inverse = np.zeros_like(m)
    inverse[seen] = np.linalg.inv(m[seen])
    return inverse, seen


def pixel_boxes(origin: FloatArray, e_u: FloatArray, e_v: FloatArray, camera: FloatArray,
                size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Return (Q, 4) pixel ranges left, right, top, bottom that hold each quadrilateral."""
    width, height = size
    corners = np.stack((origin, origin + e_u, origin + e_v, origin + e_u + e_v), axis=1) @ camera.T
    z = corners[..., 2]
    uv = corners[..., :2] / np.maximum(z, NEAR)[..., None]
    low, high = np.floor(uv.min(axis=1)), np.ceil(uv.max(axis=1)) + 1
    boxes = np.stack((np.clip(low[:, 0], 0, width), np.clip(high[:, 0], 0, width),
                      np.clip(low[:, 1], 0, height), np.clip(high[:, 1], 0, height)), axis=1)
    # A quadrilateral that crosses the camera's plane may cover anything; one behind it covers nothing.
    boxes[(z < NEAR).any(axis=1)] = 0, width, 0, height
    boxes[(z < NEAR).all(axis=1)] = 0
    return boxes.astype(np.int64)


@njit(cache=True)
def nearest_quads(inverse, seen, disc, boxes, shift_x, shift_y, best, depth):  # type: ignore[no-untyped-def] # noqa: E501
    """Fill ``best`` with the quadrilateral seen at each pixel (-1: none), ``depth`` with 1 / z."""
    best[:] = -1
    depth[:] = 0.0
    for q in range(len(inverse)):
        if not seen[q]:
            continue
        m = inverse[q]
        for y in range(boxes[q, 2], boxes[q, 3]):
            py = y + shift_y
            for x in range(boxes[q, 0], boxes[q, 1]):
                px = x + shift_x
                w = m[2, 0] * px + m[2, 1] * py + m[2, 2]
                if w <= depth[y, x] or w > 1.0 / NEAR:
                    continue
                s = m[0, 0] * px + m[0, 1] * py + m[0, 2]
                t = m[1, 0] * px + m[1, 1] * py + m[1, 2]
                if s < 0.0 or s > w or t < 0.0 or t > w:
                    continue
                if disc[q] and (s - w / 2)**2 + (t - w / 2)**2 > w * w / 4:
                    continue
                best[y, x] = q
                depth[y, x] = w


@njit(cache=True)
def _add_bilinear(texels, level, x, y, weight, pixel):  # type: ignore[no-untyped-def]
    offset, height, width = level[0], level[1], level[2]
    x = min(max(x - 0.5, 0.0), width - 1.001)
    y = min(max(y - 0.5, 0.0), height - 1.001)
    x0, y0 = int(x), int(y)
    fx, fy = x - x0, y - y0
    here = offset + y0 * width + x0
    below = here + width if y0 + 1 < height else here
    right = 1 if x0 + 1 < width else 0
    a, b = (1 - fx) * (1 - fy) * weight, fx * (1 - fy) * weight
    c, d = (1 - fx) * fy * weight, fx * fy * weight
    for channel in range(3):
        pixel[channel] += (a * texels[here, channel] + b * texels[here + right, channel]
                           + c * texels[below, channel] + d * texels[below + right, channel])


@njit(cache=True)
def shade(inverse, best, shift_x, shift_y, texture, rect, light, texels, levels, out):  # type: ignore[no-untyped-def] # noqa: E501
    """
    Add the colour of each pixel's quadrilateral to ``out``.

    ``texture`` and ``rect`` (left, top, width, height in texels) say which piece of the atlas a quadrilateral shows,
    ``light`` how bright it is. The level of the pyramid follows from the texels that a pixel covers.
    """
    n_levels = levels.shape[1]
    for y in range(best.shape[0]):
        py = y + shift_y
        for x in range(best.shape[1]):
            q = best[y, x]
            if q < 0:
                continue
            px = x + shift_x
            m = inverse[q]
            z = 1.0 / (m[2, 0] * px + m[2, 1] * py + m[2, 2])
            s = (m[0, 0] * px + m[0, 1] * py + m[0, 2]) * z
            t = (m[1, 0] * px + m[1, 1] * py + m[1, 2]) * z
            width, height = rect[q, 2], rect[q, 3]
            sx, sy = (m[0, 0] - s * m[2, 0]) * z * width, (m[0, 1] - s * m[2, 1]) * z * width
            tx, ty = (m[1, 0] - t * m[2, 0]) * z * height, (m[1, 1] - t * m[2, 1]) * z * height
            footprint = max(np.sqrt(sx * sx + tx * tx), np.sqrt(sy * sy + ty * ty))
            # Half a level finer than one texel a pixel: several samples a pixel are averaged anyway.
            level = min(max(np.log2(max(footprint, 1e-6)) - 0.5, 0.0), n_levels - 1.001)
            fine = int(level)
            blend = level - fine
            tex = texture[q]
            u, v = rect[q, 0] + s * width, rect[q, 1] + t * height
            near = 1.0 / (1 << fine)
            _add_bilinear(texels, levels[tex, fine], u * near, v * near,
                          light[q] * (1 - blend), out[y, x])
            _add_bilinear(texels, levels[tex, fine + 1], u * near / 2, v * near / 2,
                          light[q] * blend, out[y, x])
