# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/motions``: one row for each motion of a frame."""

from typing import Any

import numpy as np

from gdm_motion_seg.msgs.clouds import cloud_from_rows, Rows
from gdm_motion_seg.msgs.keypoints import NO_RESIDUAL
from gdm_motion_seg.pipeline import FrameResult

_F = [f'f{row}{column}' for row in range(3) for column in range(3)]

MOTION = np.dtype([
    ('id', np.int32), ('count', np.uint32), ('dimension', np.float32), ('kind', np.uint32),
    ('residual', np.float32), ('world', np.uint32), ('moving', np.float32),
    ('box', np.float32, (4,)), ('dt', np.float64),
    *((name, np.float64) for name in _F)], align=True)
"""The fields of a motion; docs/ros.md says what each one means. None of them is ever NaN."""


def motion_rows(result: FrameResult) -> Rows:
    """Fill one row for each motion."""
    rows = np.zeros(len(result.segmentation.motions), MOTION)
    rows['dt'] = (result.stamp - result.previous_stamp) / 1e9
    for row, motion in zip(rows, result.segmentation.motions):
        row['id'], row['count'], row['kind'] = motion.id, motion.count, motion.kind.code
        row['dimension'] = motion.dimension if np.isfinite(motion.dimension) else 0.0
        row['residual'] = motion.residual if np.isfinite(motion.residual) else NO_RESIDUAL
        row['world'], row['moving'], row['box'] = motion.is_world, motion.moving, motion.box
        if np.isfinite(motion.fundamental).all():
            for name, value in zip(_F, motion.fundamental.ravel()):
                row[name] = value
    return rows


def motions_cloud(types: Any, header: Any, result: FrameResult) -> Any:
    """Build the sensor_msgs/PointCloud2 of ``~/motions``."""
    return cloud_from_rows(types, header, motion_rows(result))
