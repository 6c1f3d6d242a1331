# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/keypoints``, ``~/motions`` and ``~/detections``: tracks, motions and boxes of a frame."""

from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.msgs.clouds import cloud_from_rows, Rows
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.poses import motion_pose, quaternion, time_to_contact
from gdm_motion_seg.segmentation.result import Motion
from gdm_motion_seg.viz.colors import motion_rgb

KEYPOINT = np.dtype([
    ('x', np.float32), ('y', np.float32), ('z', np.float32),
    ('u', np.float32), ('v', np.float32), ('u_prev', np.float32), ('v_prev', np.float32),
    ('label', np.int32), ('track_id', np.uint32), ('residual', np.float32),
    ('moving', np.float32), ('rgb', np.float32)])
"""The fields of a keypoint, described in docs/ros.md; none of them is ever NaN."""
MAX_RAY = 1e6
NO_RESIDUAL = -1.0
"""``residual`` of a point if there is no motion."""
CLASS_ID = 'moving'
"""Class of every detection."""

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


def keypoint_rows(result: FrameResult, rays: FloatArray) -> Rows:
    """Return one row per correspondence; ``rays`` are the (N, 3) directions x, y, 1."""
    pair, segmentation = result.correspondences, result.segmentation
    rows = np.zeros(len(pair), KEYPOINT)
    # Zero outside the domain of the lens model; larger values would overflow a float32.
    known = (np.abs(rays[:, 0]) < MAX_RAY) & (np.abs(rays[:, 1]) < MAX_RAY)
    rows['x'], rows['y'], rows['z'] = np.where(known[:, None], rays, 0.0).T
    rows['u'], rows['v'] = pair.x2.T
    rows['u_prev'], rows['v_prev'] = pair.x1.T
    rows['label'], rows['moving'] = segmentation.labels, segmentation.moving
    rows['track_id'] = pair.ids & 0xFFFFFFFF
    rows['residual'] = np.where(np.isfinite(segmentation.residuals), segmentation.residuals,
                                NO_RESIDUAL)
    rows['rgb'] = packed_rgb(rows['label'])
    return rows


def packed_rgb(ids: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float32]:
    """Pack the colours of motions as PCL and RViz do: 0x00RRGGBB in the bits of a float32."""
    wanted = np.unique(ids)
    colours = map(motion_rgb, wanted.tolist())
    bits = np.array([r << 16 | g << 8 | b for r, g, b in colours], np.uint32)
    # Faster than np.unique with return_inverse, which sorts the ids twice.
    return bits[np.searchsorted(wanted, ids)].view(np.float32)


def keypoints_cloud(types: Any, header: Any, result: FrameResult, rays: FloatArray) -> Any:
    """Build the sensor_msgs/PointCloud2 of ``~/keypoints``."""
    return cloud_from_rows(types, header, keypoint_rows(result, rays))


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


def vision_messages() -> Any | None:
    """Return the module ``vision_msgs.msg``; None if it is not installed."""
    try:
        return import_module('vision_msgs.msg')
    except ImportError:
        return None


def detections_array(vision: Any, header: Any, result: FrameResult) -> Any:
    """Build the vision_msgs/Detection2DArray of a frame: one detection per body."""
    array = vision.Detection2DArray()
    array.header = header
    array.detections = [_detection(vision, header, motion) for motion in result.motions
                        if not motion.is_world]
    return array


def _detection(vision: Any, header: Any, motion: Any) -> Any:
    left, top, right, bottom = (float(v) for v in motion.box)
    detection = vision.Detection2D()
    detection.header = header
    detection.id = str(motion.id)
    detection.bbox.center.position.x = 0.5 * (left + right)
    detection.bbox.center.position.y = 0.5 * (top + bottom)
    detection.bbox.size_x, detection.bbox.size_y = right - left, bottom - top
    hypothesis = vision.ObjectHypothesisWithPose()
    hypothesis.hypothesis.class_id = CLASS_ID
    hypothesis.hypothesis.score = float(motion.moving)
    detection.results = [hypothesis]
    return detection
