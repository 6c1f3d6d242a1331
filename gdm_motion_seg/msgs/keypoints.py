# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/keypoints``: one row per track of a frame."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.msgs.clouds import cloud_from_rows, Rows
from gdm_motion_seg.pipeline import FrameResult
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


def keypoint_rows(result: FrameResult, rays: FloatArray) -> Rows:
    """Return one row per correspondence; ``rays`` are the (N, 3) directions x, y, 1."""
    pair, segmentation = result.correspondences, result.segmentation
    rows = np.zeros(len(pair), KEYPOINT)
    rows['x'], rows['y'], rows['z'] = known_rays(rays).T
    rows['u'], rows['v'] = pair.x2.T
    rows['u_prev'], rows['v_prev'] = pair.x1.T
    rows['label'], rows['moving'] = segmentation.labels, segmentation.moving
    rows['track_id'] = pair.ids & 0xFFFFFFFF
    rows['residual'] = np.where(np.isfinite(segmentation.residuals), segmentation.residuals,
                                NO_RESIDUAL)
    rows['rgb'] = packed_rgb(rows['label'])
    return rows


def known_rays(rays: FloatArray) -> FloatArray:
    """Return the rays; zero for pixels outside the domain of the lens model."""
    # Larger values overflow a float32.
    return np.where((np.abs(rays) < MAX_RAY).all(axis=1, keepdims=True), rays, 0.0)


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
