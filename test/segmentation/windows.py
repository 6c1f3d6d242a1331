# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Windows of tracks with known motions, projected from points in space."""

import numpy as np

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.tracking.window import Window

SIZE = (640, 480)
CAMERA = Camera.guess(SIZE)


def project(points):
    """Project points (N, 3) in front of the camera."""
    pixels = points @ CAMERA.matrix.T
    return pixels[:, :2] / pixels[:, 2:]


def world_points(count, rng, near=3.0, far=12.0):
    """Return points that are spread over the image at random depths."""
    depth = rng.uniform(near, far, count)
    pixels = np.column_stack([rng.uniform(10, (630, 470), (count, 2)), np.ones(count)])
    return depth[:, None] * (pixels @ np.linalg.inv(CAMERA.matrix).T)


def patch_points(count, rng, centre=(320, 240), side=80, depth=5.0, relief=0.3):
    """Return points of a body that covers a square of the image."""
    low = np.array(centre) - side / 2
    pixels = np.column_stack([low + rng.uniform(0, side, (count, 2)), np.ones(count)])
    z = depth + relief * rng.uniform(-1, 1, count)
    return z[:, None] * (pixels @ np.linalg.inv(CAMERA.matrix).T)


def window_of(bodies, rng, gaps=(0.2, 0.5), noise=0.1):
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
