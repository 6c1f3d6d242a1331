# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/motions``: one row per motion of a frame."""

from math import isfinite
from typing import Any

import numpy as np

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.msgs.clouds import cloud_from_rows, Rows
from gdm_motion_seg.msgs.keypoints import NO_RESIDUAL
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.poses import motion_pose, quaternion, time_to_contact
from gdm_motion_seg.segmentation.result import Motion

_F = [f'f{row}{column}' for row in range(3) for column in range(3)]

MOTION = np.dtype([
    ('id', np.int32), ('count', np.uint32), ('dimension', np.float32), ('kind', np.uint32),
    ('residual', np.float32), ('world', np.uint32), ('moving', np.float32),
    ('box', np.float32, (4,)), ('dt', np.float64),
    *((name, np.float64) for name in _F),
    ('has_pose', np.uint32), ('rotation', np.float64, (4,)), ('translation', np.float64, (3,)),
    ('rotation_error_deg', np.float32), ('direction_error_deg', np.float32),
    ('has_contact', np.uint32), ('contact_s', np.float32), ('contact_error_s', np.float32)],
    align=True)
"""The fields of a motion, described in docs/ros.md; none of them is ever NaN."""


def motion_rows(result: FrameResult, camera: Camera | None = None) -> Rows:
    """Return one row per motion; poses only if the camera is calibrated."""
    seconds = (result.stamp - result.previous_stamp) / 1e9
    rows = np.zeros(len(result.motions), MOTION)
    for row, motion in zip(rows, result.motions):
        row['id'], row['count'], row['kind'] = motion.id, motion.count, motion.kind.code
        row['dimension'] = motion.dimension if isfinite(motion.dimension) else 0.0
        row['residual'] = motion.residual if isfinite(motion.residual) else NO_RESIDUAL
        row['world'], row['moving'], row['box'] = motion.is_world, motion.moving, motion.box
        row['dt'] = seconds
        if np.isfinite(motion.fundamental).all():
            for name, value in zip(_F, motion.fundamental.ravel()):
                row[name] = value
        _fill_pose(row, motion, result, camera)
    return rows


def _fill_pose(row: Any, motion: Motion, result: FrameResult, camera: Camera | None) -> None:
    """Fill pose and time to contact with their errors, and the flags that say if they exist."""
    points = result.correspondences if result.undistorted is None else result.undistorted
    if camera is not None and not camera.is_guess:
        pose = motion_pose(motion, points, camera.matrix)
        if pose is not None:
            row['has_pose'] = 2 if pose.has_translation else 1
            row['rotation'], row['translation'] = quaternion(pose.rotation), pose.translation
            row['rotation_error_deg'] = pose.rotation_error_deg
            row['direction_error_deg'] = pose.direction_error_deg
    if not motion.is_world:
        members = motion.members
        contact = time_to_contact(points.x1[members], points.x2[members], float(row['dt']))
        if contact is not None:
            row['has_contact'] = 1
            row['contact_s'], row['contact_error_s'] = contact.seconds, contact.error_s


def motions_cloud(types: Any, header: Any, result: FrameResult,
                  camera: Camera | None = None) -> Any:
    """Build the sensor_msgs/PointCloud2 of ``~/motions``."""
    return cloud_from_rows(types, header, motion_rows(result, camera))
