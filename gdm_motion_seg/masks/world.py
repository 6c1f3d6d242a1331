# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flow of the static world: one smooth field, and how far parallax leads away from it."""

from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.kernels import FloatImage

DEGREE = 3
"""Of the polynomial: a homography over one frame is quadratic, some relief needs one more."""
STEP = 5
"""Pixels between the samples that the polynomial is fitted to."""
SCALE = 0.3
"""Residual in pixels of the grid from which on a sample counts less."""
ROUNDS = 4
"""Of the robust fit."""
CELL = 6
"""Side in pixels of the cells in which the parallax of tracks is averaged."""
CELL_BLUR = 2.0
"""Standard deviation in cells of the mean over neighbours."""
PRIOR_TRACKS = 0.3
"""So many tracks the image's median counts for in every cell."""


def world_flow(flow: FloatImage, trust: FloatImage) -> FloatImage:
    """
    Return the world's flow (h, w, 2): a polynomial, fitted to the flow by robust least squares.

    ``trust`` (h, w) is how sure it is that a pixel is static, in [0, 1].
    """
    h, w = trust.shape
    half = STEP // 2
    given = flow[half::STEP, half::STEP].reshape(-1, 2).astype(np.float64)
    weight = np.maximum(0.02, trust[half::STEP, half::STEP].ravel().astype(np.float64))
    samples = _terms(h, w)[half::STEP, half::STEP].reshape(len(given), -1).astype(np.float64)
    coefficients = robust_fit(samples, given, weight, SCALE, ROUNDS, 1e-4)
    return np.asarray(_terms(h, w) @ coefficients.astype(np.float32))


def robust_fit(terms: npt.NDArray[np.float64], given: npt.NDArray[np.float64],
               weight: npt.NDArray[np.float64], scale: float, rounds: int, ridge: float
               ) -> npt.NDArray[np.float64]:
    """Solve ``terms @ m = given`` by reweighted least squares (Geman-McClure), with a ridge."""
    now = weight
    m = np.zeros((terms.shape[1], given.shape[1]))
    for _ in range(rounds):
        weighted = terms * now[:, None]
        normal = weighted.T @ terms + ridge * max(now.sum(), 1e-9) * np.eye(terms.shape[1])
        m = np.linalg.solve(normal, weighted.T @ given)
        error2 = ((given - terms @ m)**2).sum(axis=1)
        now = weight / (1.0 + error2 / scale**2)**2
    return m


@lru_cache(maxsize=4)
def _terms(h: int, w: int) -> FloatImage:
    """Return the terms of the polynomial at every pixel, in offsets from the grid's middle."""
    y, x = np.mgrid[:h, :w]
    a, b = (2.0 * x - w) / w, (2.0 * y - h) / w
    terms = [a**i * b**j for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    return np.stack(terms, axis=-1).astype(np.float32)


def parallax(displacement: FloatImage, cells: npt.NDArray[np.int64]) -> FloatImage:
    """
    Return by how much the static world leaves the smooth flow around each pixel.

    ``displacement`` (h, w, 3) is against the smooth flow; ``cells`` (N, 2) are the pixels of the
    tracks that belong to the world.
    """
    h, w = displacement.shape[:2]
    total = np.zeros((h // CELL + 1, w // CELL + 1), np.float32)
    count = np.zeros_like(total)
    length = np.hypot(*displacement[cells[:, 1], cells[:, 0], :2].T)
    usual = float(np.median(length)) if len(length) else SCALE
    np.add.at(total, (cells[:, 1] // CELL, cells[:, 0] // CELL), length)
    np.add.at(count, (cells[:, 1] // CELL, cells[:, 0] // CELL), 1)
    total = cv2.GaussianBlur(total, (0, 0), CELL_BLUR) + PRIOR_TRACKS * usual
    count = cv2.GaussianBlur(count, (0, 0), CELL_BLUR) + PRIOR_TRACKS
    coarse = total / count
    size = (coarse.shape[1] * CELL, coarse.shape[0] * CELL)
    return np.asarray(cv2.resize(coarse, size)[:h, :w], np.float32)
