# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bodies of the masks: their ids and lifetimes, and their affine flows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.kernels import FloatImage, IdImage
from gdm_motion_seg.masks.world import robust_fit

FLOW_BODY = 1_000_000
"""First id of bodies that only the flow shows; they have no tracks."""
HOLD_S = 0.5
"""Time for which a body is remembered after tracks and flow have lost it, in seconds."""
ENOUGH_TRACKS = 15
"""With fewer tracks, the flow of a body is also fitted to its pixels in the last mask."""
LEAST_SAMPLES = 6
"""Smallest number of samples for the fit of an affine flow."""
MARGIN = 4.0
"""Pixels around a body's samples in which its affine flow is extrapolated."""

IntArray = npt.NDArray[np.int64]


class Names:
    """Ids of the bodies, and how long each is still remembered."""

    def __init__(self) -> None:
        """Begin without bodies."""
        self._same: dict[int, int] = {}
        self._left: dict[int, float] = {}
        self._next = FLOW_BODY

    @property
    def alive(self) -> tuple[int, ...]:
        """Ids of the bodies that are remembered."""
        return tuple(self._left)

    def new(self) -> int:
        """Return an id for a body that only the flow shows."""
        self._next += 1
        return self._next - 1

    def of_tracks(self, bodies: IntArray, under: IdImage) -> IntArray:
        """
        Return the ids of the bodies of tracks.

        A new body on the pixels (``under``) of a body without tracks gets its id.
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
        """Advance by one frame, in which some bodies were seen."""
        for body in seen:
            self._left[body] = min(HOLD_S, self._left.get(body, 0.0) + seconds)
        for body in set(self._left) - seen:
            self._left[body] -= seconds
        self._left = {body: left for body, left in self._left.items() if left > 0}

    def drop(self, body: int) -> None:
        """Forget a body."""
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
