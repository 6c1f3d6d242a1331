# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flow of the static world: a smooth field, and the deviation that parallax causes."""

from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.kernels import FloatImage

DEGREE = 3
"""Degree of the polynomial: a homography is nearly quadratic, relief needs one degree more."""
STEP = 5
"""Distance in pixels between the samples to which the polynomial is fitted."""
SCALE = 0.3
"""Residual in pixels of the grid above which a sample has less weight."""
ROUNDS = 4
"""Iterations of the robust fit."""
CELL = 6
"""Side in pixels of the cells in which the parallax of tracks is averaged."""
CELL_BLUR = 2.0
"""Standard deviation in cells of the mean over neighbours."""
PRIOR_TRACKS = 0.3
"""Weight of the median of the image in every cell, in tracks."""


def fit_world(flow: FloatImage, trust: FloatImage) -> FloatImage:
    """
    Fit the world's flow by robust least squares.

    Parameters
    ----------
    flow :
        (h, w, 2) flow of the frame.
    trust :
        (h, w) probability that a pixel is static.

    Returns
    -------
    (10, 2) coefficients of the terms ``a**i * b**j`` with i + j <= 3, i outer; a and b are the
    pixel's offset from the grid's middle over half of its width.

    """
    h, w = trust.shape
    half = STEP // 2
    terms = _terms(h, w)
    given = flow[half::STEP, half::STEP].reshape(-1, 2).astype(np.float64)
    weight = np.maximum(0.02, trust[half::STEP, half::STEP].ravel().astype(np.float64))
    return robust_fit(terms, given, weight, SCALE, ROUNDS, 1e-4).astype(np.float32)


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
def _terms(h: int, w: int) -> npt.NDArray[np.float64]:
    """Return the terms of the polynomial at the samples."""
    y, x = np.mgrid[STEP // 2:h:STEP, STEP // 2:w:STEP]
    a, b = (2.0 * x.ravel() - w) / w, (2.0 * y.ravel() - h) / w
    return np.stack([a**i * b**j for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)], -1)


def parallax(displacement: FloatImage, cells: npt.NDArray[np.int64]) -> FloatImage:
    """
    Return by how much the static world deviates from the smooth flow around each pixel.

    Parameters
    ----------
    displacement :
        (h, w, 3) displacement relative to the smooth flow.
    cells :
        (N, 2) pixels of the tracks that belong to the world.

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
