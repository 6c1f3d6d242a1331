# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/motions``: one row for each motion of a frame."""

from math import isfinite
from typing import Any

import numpy as np

from gdm_motion_seg.msgs.clouds import cloud_from_rows, Rows
from gdm_motion_seg.msgs.keypoints import NO_RESIDUAL
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion

_F = [f'f{row}{column}' for row in range(3) for column in range(3)]

MOTION = np.dtype([
    ('id', np.int32), ('count', np.uint32), ('dimension', np.float32), ('kind', np.uint32),
    ('residual', np.float32), ('world', np.uint32), ('moving', np.float32),
    ('box', np.float32, (4,)), ('dt', np.float64),
    *((name, np.float64) for name in _F)], align=True)
"""The fields of a motion; docs/ros.md says what each one means. None of them is ever NaN."""


def motion_rows(result: FrameResult) -> Rows:
    """Fill one row for each motion."""
    seconds = (result.stamp - result.previous_stamp) / 1e9
    return np.array([_row(motion, seconds) for motion in result.motions], MOTION)


def _row(motion: Motion, seconds: float) -> tuple[Any, ...]:
    """Return the values of a motion in the order of the fields."""
    known = np.isfinite(motion.fundamental).all()
    return (motion.id, motion.count, motion.dimension if isfinite(motion.dimension) else 0.0,
            motion.kind.code, motion.residual if isfinite(motion.residual) else NO_RESIDUAL,
            motion.is_world, motion.moving, motion.box, seconds,
            *(motion.fundamental.ravel().tolist() if known else [0.0] * 9))


def motions_cloud(types: Any, header: Any, result: FrameResult) -> Any:
    """Build the sensor_msgs/PointCloud2 of ``~/motions``."""
    return cloud_from_rows(types, header, motion_rows(result))
