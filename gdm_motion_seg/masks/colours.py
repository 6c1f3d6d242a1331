# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Colour histograms of moving and static pixels, with exponential forgetting."""

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.kernels import ByteImage, FloatImage

BINS = 32
"""Bins per channel of a colour histogram."""
KEPT = 0.9
"""Share of a histogram that is kept from frame to frame."""
FLOOR = 1e-4
"""Added to both densities, so that an unseen colour is neutral."""

Mask = npt.NDArray[np.bool_]


class ColourModel:
    """
    Histograms of Lab colours of moving and of static pixels.

    They are learned only from pixels that motion decides. If a mask learned from its own colours,
    it would lock on to the wrong object.
    """

    def __init__(self) -> None:
        """Begin without colours."""
        self._moving = np.zeros(BINS**3, np.float32)
        self._static = np.zeros(BINS**3, np.float32)
        self._bins: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)

    def log_odds(self, lab: ByteImage) -> FloatImage:
        """Return log(p(colour | moving) / p(colour | static)) per pixel; 0 before any learning."""
        self._bins = (lab // (256 // BINS)).astype(np.int64) @ np.array([BINS**2, BINS, 1])
        if not self._moving.any() or not self._static.any():
            return np.zeros(lab.shape[:2], np.float32)
        ratio = np.log((self._moving / self._moving.sum() + FLOOR)
                       / (self._static / self._static.sum() + FLOOR)).astype(np.float32)
        return np.asarray(ratio[self._bins])

    def learn(self, moving: Mask, static: Mask) -> None:
        """Add the pixels of the last image that are certain to move or to be static."""
        self._moving = _learned(self._moving, self._bins[moving])
        self._static = _learned(self._static, self._bins[static])


def _learned(old: FloatImage, bins: npt.NDArray[np.int64]) -> FloatImage:
    new = np.bincount(bins, minlength=BINS**3).astype(np.float32).reshape(BINS, BINS, BINS)
    for axis in range(3):
        new = 0.5 * new + 0.25 * np.roll(new, 1, axis) + 0.25 * np.roll(new, -1, axis)
    return np.asarray(new.ravel() if not old.any() else KEPT * old + (1 - KEPT) * new.ravel())
