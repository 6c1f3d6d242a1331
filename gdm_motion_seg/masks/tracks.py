# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tracks of a result on the working grid."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.grid import View
from gdm_motion_seg.masks.kernels import FloatImage
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import OUTLIER

MOVING = 0.5
"""Probability above which a track counts as moving."""
DOUBTFUL = 0.14
"""Probability above which a track is not used as evidence for the static world."""

Value = TypeVar('Value', bound=np.generic)


@dataclass(frozen=True)
class Tracks:
    """Tracks without the wrong matches."""

    points: FloatImage
    """(N, 2) in pixels of the grid."""
    pixels: npt.NDArray[np.int64]
    """(N, 2) the same, rounded and inside the grid."""
    sure: npt.NDArray[np.float64]
    """(N,) probability that the track moves."""
    bodies: npt.NDArray[np.int64]
    """(N,) id of the body of a moving track; 0 for static ones and those without a body."""

    @classmethod
    def of(cls, result: FrameResult, view: View) -> 'Tracks':
        """Return the tracks of a result; none if there is no pair."""
        keep = np.flatnonzero((result.labels != OUTLIER) | (result.moving > MOVING))
        points = view.on_grid(result.correspondences.x2[keep])
        h, w = view.shape
        pixels = np.clip(np.rint(points).astype(np.int64), 0, [w - 1, h - 1])
        sure = np.asarray(result.moving[keep], np.float64)
        bodies = np.where(sure > MOVING, np.maximum(result.labels[keep], 0), 0)
        return cls(points, pixels, sure, bodies.astype(np.int64))

    @property
    def moving(self) -> npt.NDArray[np.bool_]:
        """Whether each track moves."""
        return self.sure > MOVING

    def at(self, image: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """Return an image's values at the tracks."""
        return image[self.pixels[:, 1], self.pixels[:, 0]]
