# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The flow of the static world and of bodies on the working grid.

The flow of the world is a polynomial of the position; ``parallax`` is how far its tracks differ
from that. The flow of a body is affine.
"""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.kernels import FloatImage, IdImage

DEGREE = 3
"""Degree of the polynomial: 2 for a homography over one frame, 3 because of depth."""
STEP = 5
"""Pixels between the samples that the polynomial is fitted to."""
SCALE = 0.3
"""Residual in pixels of the grid at which a sample has a quarter of its weight."""
ROUNDS = 4
"""Iterations of the robust fit."""
CELL = 6
"""Side in pixels of the cells in which the parallax of tracks is averaged."""
CELL_BLUR = 2.0
"""Standard deviation in cells of the mean over neighbours."""
PRIOR_TRACKS = 0.3
"""Weight of the median of the image in each cell, in tracks."""
ENOUGH_TRACKS = 15
"""A body with fewer tracks is also described by its pixels in the last mask."""
FAR = 1e3
"""Residual where there is no body, in pixels."""
LEAST_SAMPLES = 6
"""With fewer samples an affine flow is not fitted."""
MARGIN = 4.0
"""Pixels around a body's samples in which its affine flow is extrapolated."""
SLACK = 0.02
"""Residual that a pixel's distance from a body adds, per pixel."""


def world_flow(flow: FloatImage, trust: FloatImage) -> FloatImage:
    """
    Return the world's flow (h, w, 2): a polynomial, fitted to the flow by robust least squares.

    ``trust`` (h, w) is the confidence that a pixel is static, in [0, 1].
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
    Return by how much static tracks around each pixel differ from the smooth flow.

    ``displacement`` (h, w, 3) is relative to the smooth flow; ``cells`` (N, 2) are the pixels of
    the tracks that belong to the world.
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


@dataclass(frozen=True)
class BodyFlows:
    """Affine flow of each body."""

    ids: IdImage
    """(K,)"""
    boxes: FloatImage
    """(K, 4) left, top, right, bottom of the samples with a margin."""
    models: FloatImage
    """(K, 3, 2) flow = (1, x, y) @ model."""
    speed: float
    """Median speed of the samples relative to the world, in pixels per frame."""

    def residual(self, flow: FloatImage) -> tuple[FloatImage, IdImage]:
        """
        Return, per pixel, the residual to the flow of the body that fits best, and its id.

        Outside of a body's box its flow is that of the nearest point of the box, and the residual
        grows by SLACK per pixel of distance.
        """
        h, w = flow.shape[:2]
        x, y = np.arange(w, dtype=np.float32), np.arange(h, dtype=np.float32)[:, None]
        nearest, owner = np.full((h, w), FAR, np.float32), np.zeros((h, w), np.int32)
        for body, (left, top, right, bottom), m in zip(self.ids, self.boxes, self.models):
            u, v = np.clip(x, left, right), np.clip(y, top, bottom)
            dx = flow[..., 0] - (m[0, 0] + m[1, 0] * u + m[2, 0] * v)
            dy = flow[..., 1] - (m[0, 1] + m[1, 1] * u + m[2, 1] * v)
            error = np.hypot(dx, dy) + SLACK * np.hypot(x - u, y - v)
            better = error < nearest
            nearest[better], owner[better] = error[better], body
        return nearest, owner


def affine_flows(samples: dict[int, tuple[FloatImage, FloatImage, FloatImage]]) -> BodyFlows:
    """Fit each body's flow to its samples: positions, flows, flows less the world's."""
    boxes, models, speeds = [], [], []
    for points, flows, against_world in samples.values():
        middle = points.mean(axis=0).astype(np.float64)
        terms = np.column_stack((np.ones(len(points)), (points - middle) / 20.0))
        m = robust_fit(terms, flows.astype(np.float64), np.ones(len(points)), 0.3, 4, 1e-2)
        m[1:] /= 20.0
        m[0] -= middle @ m[1:]
        models.append(m)
        boxes.append([*(points.min(axis=0) - MARGIN), *(points.max(axis=0) + MARGIN)])
        speeds.append(np.hypot(*against_world.T))
    return BodyFlows(np.array(list(samples), np.int32), np.array(boxes, np.float32).reshape(-1, 4),
                     np.array(models, np.float32).reshape(-1, 3, 2),
                     float(np.median(np.concatenate(speeds))) if speeds else 1.0)
