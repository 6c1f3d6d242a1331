# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Rasteriser of textured quadrilaterals, with perspective, z-buffer and filtered textures.

With M = K [e_u e_v origin] (in camera axes) a point (s, t) of a quadrilateral is seen at
M (s, t, 1) = z (x, y, 1). Hence inverse(M) (x, y, 1) = (s, t, 1) / z: three functions that are
linear in the pixel, and the third of them is the inverse depth for the z-buffer.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.compilation import compiled, kernel

FloatArray = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[Any]
Texels = npt.NDArray[np.uint8]
Light = npt.NDArray[np.float32]
NEAR = 0.05
"""Near plane in metres."""


def inverse_maps(origin: FloatArray, e_u: FloatArray, e_v: FloatArray, camera: FloatArray
                 ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return inverse(M) of every quadrilateral, and whether it can be seen (not edge-on)."""
    m = camera @ np.stack((e_u, e_v, origin), axis=-1)
    scale = np.linalg.norm(m, axis=(1, 2))
    seen = np.abs(np.linalg.det(m)) > 1e-9 * scale**3
    inverse = np.zeros_like(m)
    inverse[seen] = np.linalg.inv(m[seen])
    return inverse, seen


def pixel_boxes(origin: FloatArray, e_u: FloatArray, e_v: FloatArray, camera: FloatArray,
                size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Return (Q, 4) pixel ranges left, right, top, bottom that contain each quadrilateral."""
    width, height = size
    corners = np.stack((origin, origin + e_u, origin + e_v, origin + e_u + e_v), axis=1) @ camera.T
    z = corners[..., 2]
    uv = corners[..., :2] / np.maximum(z, NEAR)[..., None]
    low, high = np.floor(uv.min(axis=1)), np.ceil(uv.max(axis=1)) + 1
    boxes = np.stack((np.clip(low[:, 0], 0, width), np.clip(high[:, 0], 0, width),
                      np.clip(low[:, 1], 0, height), np.clip(high[:, 1], 0, height)), axis=1)
    # A quadrilateral that crosses the camera plane may cover any pixel; one behind it covers none.
    boxes[(z < NEAR).any(axis=1)] = 0, width, 0, height
    boxes[(z < NEAR).all(axis=1)] = 0
    return boxes.astype(np.int64)


@kernel
def nearest_quads(inverse: FloatArray, seen: Flags, disc: Flags, boxes: Indices, shift_x: float,
                  shift_y: float, best: Indices, depth: FloatArray) -> None:
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


@compiled(fastmath=True, inline='always')
def _bilinear(texels: Texels, offset: int, height: int, width: int, x: float,
              y: float) -> tuple[Any, Any, Any]:
    x = min(max(x - 0.5, 0.0), width - 1.001)
    y = min(max(y - 0.5, 0.0), height - 1.001)
    x0, y0 = int(x), int(y)
    fx, fy = x - x0, y - y0
    i = offset + y0 * width + x0
    right = 1 if x0 + 1 < width else 0
    j = i + width if y0 + 1 < height else i
    a, b, c, d = (1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy
    k, m = i + right, j + right
    return (a * texels[i, 0] + b * texels[k, 0] + c * texels[j, 0] + d * texels[m, 0],
            a * texels[i, 1] + b * texels[k, 1] + c * texels[j, 1] + d * texels[m, 1],
            a * texels[i, 2] + b * texels[k, 2] + c * texels[j, 2] + d * texels[m, 2])


@compiled(fastmath=True)
def shade(inverse: FloatArray, best: Indices, shift_x: float, shift_y: float, texture: Indices,
          rect: FloatArray, light: FloatArray, texels: Texels, levels: Indices,
          out: Light) -> None:
    """
    Add the colour of each pixel's quadrilateral to ``out``.

    ``texture`` and ``rect`` (left, top, width, height in texels) are the part of the atlas that a
    quadrilateral shows, ``light`` is its brightness. The pyramid level depends on the number of
    texels per pixel.
    """
    n_levels = levels.shape[1]
    for y in range(best.shape[0]):
        py = y + shift_y
        for x in range(best.shape[1]):
            q = best[y, x]
            if q < 0:
                continue
            px = x + shift_x
            z = 1.0 / (inverse[q, 2, 0] * px + inverse[q, 2, 1] * py + inverse[q, 2, 2])
            s = (inverse[q, 0, 0] * px + inverse[q, 0, 1] * py + inverse[q, 0, 2]) * z
            t = (inverse[q, 1, 0] * px + inverse[q, 1, 1] * py + inverse[q, 1, 2]) * z
            width, height = rect[q, 2] * z, rect[q, 3] * z
            sx = (inverse[q, 0, 0] - s * inverse[q, 2, 0]) * width
            sy = (inverse[q, 0, 1] - s * inverse[q, 2, 1]) * width
            tx = (inverse[q, 1, 0] - t * inverse[q, 2, 0]) * height
            ty = (inverse[q, 1, 1] - t * inverse[q, 2, 1]) * height
            footprint = max(sx * sx + tx * tx, sy * sy + ty * ty, 1e-6)
            # Half a level finer than one texel per pixel, because several samples are averaged.
            level = min(max(0.5 * np.log2(footprint) - 0.5, 0.0), n_levels - 1.001)
            fine = int(level)
            blend = level - fine
            i = texture[q]
            scale = 1.0 / (1 << fine)
            u, v = (rect[q, 0] + s * rect[q, 2]) * scale, (rect[q, 1] + t * rect[q, 3]) * scale
            near = _bilinear(texels, levels[i, fine, 0], levels[i, fine, 1],
                             levels[i, fine, 2], u, v)
            far = _bilinear(texels, levels[i, fine + 1, 0], levels[i, fine + 1, 1],
                            levels[i, fine + 1, 2], u / 2, v / 2)
            a, b = light[q] * (1 - blend), light[q] * blend
            out[y, x, 0] += a * near[0] + b * far[0]
            out[y, x, 1] += a * near[1] + b * far[1]
            out[y, x, 2] += a * near[2] + b * far[2]
