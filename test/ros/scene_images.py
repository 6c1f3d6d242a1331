# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Small images with two known motions, made with numpy alone."""

import cv2
import numpy as np


def textured(height, width, seed):
    """Return smooth random texture with many corners."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (height // 4, width // 4), np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)


def grey_frame(index, size=(320, 240), seed=0):
    """Return frame ``index`` of a background that moves right and a square that moves down."""
    width, height = size
    world = textured(height, width + 200, seed)
    image = world[:, 150 - 2 * index:150 - 2 * index + width].copy()
    side = height // 3
    x, y = width // 2 - index, height // 4 + 2 * index
    image[y:y + side, x:x + side] = textured(side, side, seed + 1)[:side, :side]
    return image


def in_square(u, v, index, size=(320, 240)):
    """Whether pixels lie within the square of frame ``index``."""
    width, height = size
    side = height // 3
    x, y = width // 2 - index, height // 4 + 2 * index
    return (u >= x) & (u < x + side) & (v >= y) & (v < y + side)
