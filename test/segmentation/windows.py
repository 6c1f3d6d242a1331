# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Windows of tracks with known motions, projected from points in space."""

from collections.abc import Sequence

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.tracking.window import Window

SIZE = (640, 480)
CAMERA = Camera.guess(SIZE)


def project(points: FloatArray) -> FloatArray:
    """Project points (N, 3) in front of the camera."""
    pixels = points @ CAMERA.matrix.T
    return np.asarray(pixels[:, :2] / pixels[:, 2:])


def world_points(count: int, rng: np.random.Generator, near: float = 3.0,
                 far: float = 12.0) -> FloatArray:
    """Return points that are spread over the image at random depths."""
    depth = rng.uniform(near, far, count)
    pixels = np.column_stack([rng.uniform(10, (630, 470), (count, 2)), np.ones(count)])
    return np.asarray(depth[:, None] * pixels @ np.linalg.inv(CAMERA.matrix).T)


def patch_points(count: int, rng: np.random.Generator, centre: tuple[float, float] = (320, 240),
                 side: float = 80, depth: float = 5.0, relief: float = 0.3) -> FloatArray:
    """Return points of a body that covers a square of the image."""
    low = np.array(centre) - side / 2
    pixels = np.column_stack([low + rng.uniform(0, side, (count, 2)), np.ones(count)])
    z = depth + relief * rng.uniform(-1, 1, count)
    return np.asarray(z[:, None] * pixels @ np.linalg.inv(CAMERA.matrix).T)


def window_of(bodies: Sequence[tuple[FloatArray, Sequence[float]]], rng: np.random.Generator,
              gaps: Sequence[float] = (0.2, 0.5), noise: float = 0.1
              ) -> tuple[Window, IntArray]:
    """
    Return the window of bodies, and the body of each track.

    ``bodies`` holds pairs of points at the newest frame and their velocity relative to the camera,
    in units per second.
    """
    x = np.vstack([project(points) for points, _ in bodies])
    before = np.stack([np.vstack([project(points - gap * np.array(velocity))
                                  for points, velocity in bodies]) for gap in gaps])
    label = np.repeat(np.arange(len(bodies)), [len(points) for points, _ in bodies])
    x = x + rng.normal(0, noise, x.shape)
    before = before + rng.normal(0, noise, before.shape)
    window = Window(x, before, tuple(gaps), np.full((len(x), 3), (0.02, 0.0, 0.02)),
                    np.arange(len(x)), SIZE)
    return window, label
