# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/markers``: the flow of each motion in its colour, and its name, in front of the camera."""

from typing import Any

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import OUTLIER
from gdm_motion_seg.viz.colors import motion_rgb

LINE_WIDTH = 0.003
"""Width of a flow line at depth 1, about two pixels of a VGA camera."""
TEXT_HEIGHT = 0.04


def markers_array(types: Any, header: Any, result: FrameResult, rays: FloatArray,
                  previous_rays: FloatArray) -> Any:
    """Build the visualization_msgs/MarkerArray; whatever was drawn before goes away with it."""
    # A pixel that the lens model cannot map has no place in space.
    placed = np.isfinite(rays).all(axis=1) & np.isfinite(previous_rays).all(axis=1)
    labels = result.segmentation.labels
    markers = [_marker(types, header, 'flow', 0, types.Marker.DELETEALL)]
    # Outliers first and thin, so that motions are drawn over them.
    known = {motion.id: motion for motion in result.motions}
    for motion_id in (OUTLIER, *known):
        members = np.flatnonzero((labels == motion_id) & placed)
        if len(members) == 0:
            continue
        lines = np.stack([previous_rays[members], rays[members]], axis=1).reshape(-1, 3)
        outlier = motion_id == OUTLIER
        markers.append(_marker(
            types, header, 'outliers' if outlier else 'flow', max(motion_id, 0),
            types.Marker.ADD, types.Marker.LINE_LIST, colour=_colour(types, motion_id),
            scale=(LINE_WIDTH / 2 if outlier else LINE_WIDTH, 0.0, 0.0),
            points=[types.Point(x=x, y=y, z=z) for x, y, z in lines.tolist()]))
        if not outlier:
            motion = known[motion_id]
            top = rays[members].min(axis=0)[1] - TEXT_HEIGHT
            markers.append(_marker(
                types, header, 'names', motion_id, types.Marker.ADD,
                types.Marker.TEXT_VIEW_FACING, colour=_colour(types, motion_id),
                scale=(0.0, 0.0, TEXT_HEIGHT),
                position=(float(rays[members, 0].mean()), float(top), 1.0),
                text=f'{motion.id}: {motion.count} ({motion.kind.value})'))
    return types.MarkerArray(markers=markers)


def _colour(types: Any, motion_id: int) -> Any:
    r, g, b = (channel / 255 for channel in motion_rgb(motion_id))
    return types.ColorRGBA(r=r, g=g, b=b, a=1.0)


def _marker(types: Any, header: Any, ns: str, marker_id: int, action: int, kind: int = 0,
            scale: tuple[float, float, float] = (0.0, 0.0, 0.0),
            position: tuple[float, float, float] = (0.0, 0.0, 0.0), colour: Any = None,
            points: list[Any] | None = None, text: str = '') -> Any:
    """Give every field: rosbags' classes have no defaults."""
    nothing = types.octets(b'')
    bare = types.Header(stamp=types.Time(sec=0, nanosec=0), frame_id='')
    return types.Marker(
        header=header, ns=ns, id=marker_id, type=kind, action=action,
        pose=types.Pose(position=types.Point(**dict(zip('xyz', position))),
                        orientation=types.Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)),
        scale=types.Vector3(**dict(zip('xyz', scale))),
        color=colour or types.ColorRGBA(r=0.0, g=0.0, b=0.0, a=0.0),
        lifetime=types.Duration(sec=0, nanosec=0), frame_locked=False, points=points or [],
        colors=[], texture_resource='',
        texture=types.CompressedImage(header=bare, format='', data=nothing), uv_coordinates=[],
        text=text, mesh_resource='', mesh_file=types.MeshFile(filename='', data=nothing),
        mesh_use_embedded_materials=False)
