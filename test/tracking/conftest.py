# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A wall with a known motion, so that the displacement of every track is known."""

from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt
import pytest

PERIOD_NS = 33_000_000


class Wall:
    """A textured wall that moves by a fixed step per frame."""

    def __init__(self, size: tuple[int, int] = (320, 240), step: tuple[float, float] = (3.0, -1.5),
                 seed: int = 0) -> None:
        """Draw the wall."""
        rng = np.random.default_rng(seed)
        width, height = size
        coarse = rng.integers(0, 256, (height // 6 + 90, width // 6 + 90), np.uint8)
        self._texture = cv2.resize(coarse, None, fx=6, fy=6, interpolation=cv2.INTER_CUBIC)
        self.size, self.step = size, np.array(step)

    def frame(self, index: int) -> npt.NDArray[np.uint8]:
        """Return the grey image that is seen at a frame."""
        # The texture moves by step, and so does a point of the wall.
        x, y = np.array([120.0, 120.0]) - index * self.step
        matrix = np.array([[1.0, 0.0, -x], [0.0, 1.0, -y]])
        return np.asarray(cv2.warpAffine(self._texture, matrix, self.size,
                                         flags=cv2.INTER_LINEAR,
                                         borderMode=cv2.BORDER_REFLECT_101))

    def displacement(self, frames: int) -> npt.NDArray[np.float64]:
        """Return the displacement of every point over some frames."""
        return frames * self.step


@pytest.fixture
def wall() -> Callable[..., Wall]:
    """Make a wall."""
    return Wall
