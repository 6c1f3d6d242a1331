# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two views of scenes whose geometry is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.pose import fundamental_of


@dataclass(frozen=True)
class Views:
    """Points in two views, with noise and without."""

    x1: FloatArray
    x2: FloatArray
    clean1: FloatArray
    clean2: FloatArray
    camera_matrix: FloatArray
    rotation: FloatArray
    translation: FloatArray
    points: FloatArray
    image_size: tuple[int, int] = (640, 480)

    @property
    def fundamental(self) -> FloatArray:
        return fundamental_of(np.vstack([self.rotation, self.translation]), self.camera_matrix)


def two_views(seed: int, n: int = 100, noise: float = 0.5, scene: str = 'general',
              angle: float = 0.05, baseline: float = 0.4, focal: float = 700.0,
              image_size: tuple[int, int] = (640, 480),
              direction: Sequence[float] | None = None) -> Views:
    """
    Render a scene: general, plane, rotation, static.

    Depths of 4 to 12, and a baseline in the same unit.
    """
    rng = np.random.default_rng(seed)
    width, height = image_size
    k = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1.0]])
    pixels = rng.uniform((0, 0), image_size, (n, 2))
    rays = np.column_stack(((pixels - (width / 2, height / 2)) / focal, np.ones(n)))
    depth = rng.uniform(4.0, 12.0, n)
    if scene == 'plane':
        depth = 6.0 / (rays @ (0.2, 0.1, 1.0))
    points = rays * depth[:, None]
    axis = rng.normal(size=3)
    rotation = cv2.Rodrigues(axis * angle / np.linalg.norm(axis))[0]
    translation = rng.normal(size=3) if direction is None else np.array(direction, float)
    translation *= baseline / np.linalg.norm(translation)
    if scene in ('rotation', 'static'):
        translation = np.zeros(3)
    if scene == 'static':
        rotation = np.eye(3)
    seen = (points @ rotation.T + translation) @ k.T
    moved = seen[:, :2] / seen[:, 2:]
    return Views(pixels + noise * rng.normal(size=(n, 2)), moved + noise * rng.normal(size=(n, 2)),
                 pixels, moved, k, rotation, translation, points, image_size)


@pytest.fixture(scope='session')
def views() -> Callable[..., Views]:
    """Return the renderer of scenes."""
    return two_views
