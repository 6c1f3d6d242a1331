# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a segmentation says: values, not tuples; reasons, not None."""

from dataclasses import dataclass, field

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.motion import Motion, WORLD

__all__ = ['FIRST_BODY', 'Motion', 'MotionSegmentation', 'NEW', 'OUTLIER', 'WORLD']

OUTLIER = -1
"""The label of a wrong match: a point that follows no motion."""
FIRST_BODY = 1
"""The first id of a body."""
NEW = -2
"""The label, in the frame before, of a track that is new."""


@dataclass(frozen=True)
class MotionSegmentation:
    """Which point belongs to which rigid motion."""

    labels: IntArray
    """(N,) id of each point's motion: 0 the world, > 0 a body, OUTLIER (-1) a wrong match."""
    motions: tuple[Motion, ...]
    """The motions in the order of their ids; on a single pair the ids are 0..K-1."""
    residuals: FloatArray
    """(N,) distance in pixels to the point's motion; for outliers to the nearest one."""
    reason: str = ''
    """Why there is no answer or only a partial one; empty when all is well."""
    global_dimension: float = float('nan')
    """GD of the partition of the kept points."""
    complete: bool = True
    """False if a time budget ended the search early."""
    diagnostics: dict[str, float] = field(default_factory=dict)
    """Further numbers about the search, for people who look into it."""
    moving: FloatArray = field(default_factory=lambda: np.empty(0))
    """(N,) how sure it is that each point moves against the world, in [0, 1]."""

    @property
    def world(self) -> Motion | None:
        """Return the motion of the static world; None where there is none."""
        return next((m for m in self.motions if m.is_world), None)

    @property
    def n_motions(self) -> int:
        """Count the motions (K)."""
        return len(self.motions)

    @classmethod
    def empty(cls, n_points: int, reason: str) -> 'MotionSegmentation':
        """Build the answer that there is none: every point an outlier, no motion, and why."""
        return cls(np.full(n_points, OUTLIER, np.int64), (), np.full(n_points, np.inf),
                   reason, moving=np.zeros(n_points))
