# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Textures with corners at every scale, and their pyramids.

A *dead leaves* image (overlapping opaque shapes of all sizes, with size density ``r**-3``) has the
statistics of natural images: corners are found at every distance, and no two places look the same,
so that a tracker does not confuse them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Palette = Sequence[tuple[int, int, int]]

SMALLEST_LEAF = 4.0
"""Smallest radius in texels; smaller shapes are noise for a tracker."""
LAYERS = 3.0
"""Mean number of leaves over a pixel; with 3, about 5 % of the pixels are not covered."""


def dead_leaves(size: tuple[int, int], palette: Palette, rng: np.random.Generator,
                contrast: float = 1.0) -> Image:
    """
    Draw a BGR picture of opaque leaves of all sizes.

    Parameters
    ----------
    size : tuple of int
        Width and height in texels.
    palette : sequence of (blue, green, red)
        Colours of the leaves; each leaf varies its colour in brightness.
    rng : numpy.random.Generator
        Source of randomness.
    contrast : float
        Contrast to the mean colour; 0 gives a uniform image.

    """
    width, height = size
    largest = max(min(size) / 6.0, 2 * SMALLEST_LEAF)
    # The mean area of leaves with density r^-3 between two radii: 2 pi r0^2 log(r1 / r0), nearly.
    mean_area = 2 * np.pi * SMALLEST_LEAF**2 * np.log(largest / SMALLEST_LEAF)
    count = int(LAYERS * width * height / mean_area)
    share = rng.uniform(0.0, 1.0 - (SMALLEST_LEAF / largest)**2, count)
    radii = SMALLEST_LEAF / np.sqrt(1.0 - share)
    centres = rng.uniform((0, 0), size, (count, 2))
    colours = _shades(palette, count, rng, contrast)
    corners = rng.integers(3, 7, count)
    angles = rng.uniform(0, 2 * np.pi, (count, 1)) + np.arange(6) * (2 * np.pi / corners[:, None])
    spokes = np.stack((np.cos(angles), 0.8 * np.sin(angles)), axis=-1) * radii[:, None, None]
    rings = np.rint(centres[:, None] + spokes).astype(np.int32)
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = np.mean(palette, axis=0).astype(np.uint8)
    for ring, n, colour in zip(rings, corners.tolist(), colours.tolist()):
        cv2.fillConvexPoly(picture, ring[:n], colour)
    return picture


def _shades(palette: Palette, count: int, rng: np.random.Generator, contrast: float
            ) -> npt.NDArray[np.float64]:
    chosen = np.asarray(palette, np.float64)[rng.integers(0, len(palette), count)]
    shades = chosen * rng.uniform(0.45, 1.25, (count, 1))
    mean = shades.mean(axis=0)
    return np.asarray(np.clip(mean + contrast * (shades - mean), 15, 240))


@dataclass(frozen=True)
class Atlas:
    """All textures with all their levels in one flat array, as the rasteriser reads them."""

    texels: Image
    """(M, 3) texels of every level of every texture, row by row."""
    levels: npt.NDArray[np.int64]
    """(textures, levels, 3) offset into texels, height, width."""

    @classmethod
    def pack(cls, textures: Sequence[Image], n_levels: int = 6) -> 'Atlas':
        """Build the pyramids (area-filtered halves) and pack them."""
        pieces: list[Image] = []
        levels = np.zeros((len(textures), n_levels, 3), np.int64)
        offset = 0
        for i, texture in enumerate(textures):
            level = texture
            for j in range(n_levels):
                if j:
                    half = (max(level.shape[1] // 2, 1), max(level.shape[0] // 2, 1))
                    level = cv2.resize(level, half, interpolation=cv2.INTER_AREA).astype(np.uint8)
                levels[i, j] = offset, level.shape[0], level.shape[1]
                pieces.append(level.reshape(-1, 3))
                offset += len(pieces[-1])
        return cls(np.ascontiguousarray(np.concatenate(pieces)), levels)
