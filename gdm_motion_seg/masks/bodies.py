# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bodies of the masks: their names and lives, and the affine flow of each."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.kernels import FloatImage, IdImage
from gdm_motion_seg.masks.world import robust_fit

FLOW_BODY = 1_000_000
"""Ids from here on are bodies that only the flow shows; they have no tracks."""
HOLD_S = 0.5
"""So long a body is remembered after tracks and flow have lost it, in seconds."""
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

IntArray = npt.NDArray[np.int64]


class Names:
    """Which body is which, and how long each is still believed in."""

    def __init__(self) -> None:
        """Begin without bodies."""
        self._same: dict[int, int] = {}
        self._left: dict[int, float] = {}
        self._next = FLOW_BODY

    @property
    def alive(self) -> tuple[int, ...]:
        """Ids of the bodies that are believed in."""
        return tuple(self._left)

    def new(self) -> int:
        """Return an id for a body that only the flow shows."""
        self._next += 1
        return self._next - 1

    def of_tracks(self, bodies: IntArray, under: IdImage) -> IntArray:
        """
        Return the names of the tracks' bodies.

        A new body on the pixels (``under``) of one that has no tracks any more is that body.
        """
        now = [int(b) for b in np.unique(bodies[bodies > 0])]
        for body in now:
            if body not in self._same:
                below = under[bodies == body]
                values, counts = np.unique(below, return_counts=True)
                top = int(values[np.argmax(counts)])
                taken = {self._same.get(other) for other in now}
                takes = top > 0 and top not in taken and counts.max() > 0.5 * len(below)
                self._same[body] = top if takes else body
        return np.array([self._same.get(int(b), 0) for b in bodies], np.int64)

    def tick(self, seen: set[int], seconds: float) -> None:
        """Let a frame pass in which some bodies were seen."""
        for body in seen:
            self._left[body] = min(HOLD_S, self._left.get(body, 0.0) + seconds)
        for body in set(self._left) - seen:
            self._left[body] -= seconds
        self._left = {body: left for body, left in self._left.items() if left > 0}

    def drop(self, body: int) -> None:
        """Believe no longer in a body."""
        self._left.pop(body, None)


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
    """Median speed of the samples against the world, in pixels per frame."""

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
    """Fit each body's flow to its samples: positions, flows and flows against the world."""
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
