# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The values that a page shows for one frame besides its picture."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import IntArray
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.msgs.clouds import Rows
from gdm_motion_seg.msgs.results import motion_rows
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import OUTLIER, WORLD
from gdm_motion_seg.viz.colors import motion_rgb

_KINDS = [kind.value for kind in MotionKind]


@dataclass(frozen=True)
class Body:
    """A body in one frame."""

    id: int
    box: tuple[float, float, float, float]
    """Left, top, right and bottom in pixels."""
    moving: float
    """Probability that it moves."""
    count: int
    kind: str
    speed: float
    """Median speed of its tracks in the image, in pixels per second."""


@dataclass(frozen=True)
class Moment:
    """A frame without its picture."""

    stamp: int
    """Time of the frame in nanoseconds."""
    size: tuple[int, int]
    """Width and height of the picture."""
    bodies: tuple[Body, ...]
    world: int
    """Number of tracks of the static world."""
    outliers: int
    reason: str = ''
    latency_ms: float | None = None

    def document(self) -> dict[str, Any]:
        """Return it as a dictionary of rounded values for the page."""
        return {
            'stamp': self.stamp / 1e9, 'size': list(self.size), 'world': self.world,
            'outliers': self.outliers, 'reason': self.reason,
            'latency': None if self.latency_ms is None else round(self.latency_ms, 1),
            'bodies': [{
                'id': body.id, 'colour': css_colour(body.id),
                'box': [round(side, 1) for side in body.box], 'moving': round(body.moving, 3),
                'count': body.count, 'kind': body.kind, 'speed': round(body.speed, 1)}
                for body in self.bodies]}


def css_colour(motion_id: int) -> str:
    """Return the colour of a motion in CSS notation."""
    return '#%02x%02x%02x' % motion_rgb(motion_id)


def moment_of(result: FrameResult, latency_ms: float | None = None) -> Moment:
    """Return the moment of a result."""
    pair = result.correspondences
    return moment_from_rows(result.stamp, pair.image_size, motion_rows(result), result.labels,
                            pair.x2 - pair.x1, result.reason, latency_ms)


def moment_from_rows(stamp: int, size: tuple[int, int], motions: Rows, labels: IntArray,
                     flow: npt.NDArray[np.floating[Any]], reason: str = '',
                     latency_ms: float | None = None) -> Moment:
    """
    Return the moment of published messages of the node.

    Parameters
    ----------
    stamp : int
        Time of the frame in nanoseconds.
    size : (int, int)
        Width and height of the image.
    motions : structured array
        Rows of ``~/motions``.
    labels : (N,) array of int
        Labels of ``~/keypoints``.
    flow : (N, 2) array
        Displacement of the keypoints between the two images, in pixels.
    reason : str
        Why there are no motions.
    latency_ms : float, optional
        Processing time.

    """
    lengths = np.hypot(flow[:, 0], flow[:, 1])
    bodies = []
    for row in motions:
        if row['world'] or not len(mine := lengths[labels == row['id']]):
            continue
        left, top, right, bottom = row['box'].tolist()
        bodies.append(Body(
            int(row['id']), (left, top, right, bottom), float(row['moving']), int(row['count']),
            _KINDS[min(int(row['kind']), len(_KINDS) - 1)],
            float(np.median(mine)) / max(float(row['dt']), 1e-9)))
    return Moment(stamp, size, tuple(bodies), int(np.count_nonzero(labels == WORLD)),
                  int(np.count_nonzero(labels == OUTLIER)), reason, latency_ms)
