# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The working grid of a frame: a small colour image, the flow to the previous frame, tracks."""

from dataclasses import dataclass
import math
from typing import TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.masks.kernels import ByteImage, FloatImage
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import OUTLIER
from gdm_motion_seg.tracking.image import GreyConverter

FLOW_PIXELS = 104_000
"""Approximate number of pixels at which flow is computed: 427 x 240 for 854 x 480."""
REFINEMENTS = 0
"""Number of variational refinements of the flow: three take 3 ms and change few masks."""
MOVING = 0.5
"""Probability above which a track counts as moving."""
BINS = 32
"""Bins per channel of a colour histogram."""
KEPT = 0.9
"""Share of a histogram that is kept from frame to frame."""
FLOOR = 1e-4
"""Added to both densities, so that an unseen colour is neutral."""
DOUBTFUL = 0.14
"""Probability above which a track is not used as evidence for the static world."""

Value = TypeVar('Value', bound=np.generic)


@dataclass(frozen=True)
class View:
    """One frame on the working grid."""

    lab: ByteImage
    """(h, w, 3) colours in 8-bit Lab."""
    flow: FloatImage
    """(h, w, 2) flow to the previous frame, in pixels of the grid."""
    texture: FloatImage
    """(h, w) mean squared gradient of the lightness in a small window."""
    scale: tuple[float, float]
    """Pixels of the grid per pixel of the image, along x and y."""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the grid."""
        return self.lab.shape[0], self.lab.shape[1]

    def on_grid(self, points: npt.NDArray[np.floating]) -> FloatImage:
        """Return points of the image (N, 2) in pixels of the grid."""
        return np.asarray((points + 0.5) * np.array(self.scale) - 0.5, np.float32)


@dataclass(frozen=True)
class Tracks:
    """Tracks without the wrong matches."""

    points: FloatImage
    """(N, 2) in pixels of the grid."""
    pixels: IntArray
    """(N, 2) the same, rounded and inside the grid."""
    sure: FloatArray
    """(N,) probability that the track moves."""
    bodies: IntArray
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
    def moving(self) -> Mask:
        """Whether each track moves."""
        return self.sure > MOVING

    def at(self, image: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """Return an image's values at the tracks."""
        return image[self.pixels[:, 1], self.pixels[:, 0]]


class Viewer:
    """Resamples frames to the grid and computes flow by DIS (Kroeger et al., 2016)."""

    def __init__(self) -> None:
        """Begin without a frame."""
        self._dis = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
        self._dis.setFinestScale(1)
        self._dis.setVariationalRefinementIterations(REFINEMENTS)
        self._grey: ByteImage | None = None
        self._converter = GreyConverter(2**31)

    def look(self, image: npt.NDArray[np.generic]) -> View:
        """Process the next frame (grey, BGR or BGRA); the flow is zero for the first one."""
        middle, grid = grid_sizes(image.shape[1], image.shape[0])
        bytes_ = image if image.dtype == np.uint8 else self._converter.convert(image)
        halved = cv2.resize(np.asarray(bytes_, np.uint8), middle, interpolation=cv2.INTER_AREA)
        if halved.ndim == 2:
            halved = cv2.cvtColor(halved, cv2.COLOR_GRAY2BGR)
        halved = halved[..., :3]
        grey = np.asarray(cv2.cvtColor(halved, cv2.COLOR_BGR2GRAY), np.uint8)
        small = cv2.resize(halved, grid, interpolation=cv2.INTER_AREA)
        lab = np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2LAB), np.uint8)
        flow = np.zeros((grid[1], grid[0], 2), np.float32)
        if self._grey is not None and self._grey.shape == grey.shape:
            full = self._dis.calc(grey, self._grey, None)
            ratio = np.array([grid[0] / middle[0], grid[1] / middle[1]], np.float32)
            flow = np.asarray(cv2.resize(full, grid, interpolation=cv2.INTER_AREA) * ratio)
        self._grey = grey
        scale = grid[0] / image.shape[1], grid[1] / image.shape[0]
        return View(lab, flow, _texture(lab), scale)


def grid_sizes(width: int, height: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the size at which flow is computed, and the size of the grid, which is half of it."""
    factor = max(1, round(math.sqrt(width * height / FLOW_PIXELS)))
    middle = max(width // factor, 32), max(height // factor, 32)
    return middle, (middle[0] // 2, middle[1] // 2)


def _texture(lab: ByteImage) -> FloatImage:
    lightness = cv2.extractChannel(lab, 0)
    gx = cv2.Sobel(lightness, cv2.CV_32F, 1, 0, scale=0.125)
    gy = cv2.Sobel(lightness, cv2.CV_32F, 0, 1, scale=0.125)
    return np.asarray(cv2.blur(gx * gx + gy * gy, (5, 5)), np.float32)


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
        self._bins: IntArray = np.zeros((0, 0), np.int64)

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


def _learned(old: FloatImage, bins: IntArray) -> FloatImage:
    new = np.bincount(bins, minlength=BINS**3).astype(np.float32).reshape(BINS, BINS, BINS)
    for axis in range(3):
        new = 0.5 * new + 0.25 * np.roll(new, 1, axis) + 0.25 * np.roll(new, -1, axis)
    return np.asarray(new.ravel() if not old.any() else KEPT * old + (1 - KEPT) * new.ravel())
