# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
``~/markers``: an outline, some flow lines and a name for each body, at depth 1 of the camera.

The tracks are in ``~/keypoints``, whose points have the same colours. A line for every track would
take longer to build than the result itself.
"""

from copy import copy
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.msgs.types import MessageTypes
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion
from gdm_motion_seg.viz.colors import motion_rgb

LINE_WIDTH = 0.003
"""Width of a flow line at depth 1, about two pixels of a VGA camera."""
OUTLINE_WIDTH = 0.006
TEXT_HEIGHT = 0.04
SPACE_WIDTH = 0.02
"""Width of a space in a text; without it RViz uses that of a letter 1 m high."""
TEXT_DEPTH = 0.98
"""In front of the tracks: at the same depth the points of the world would cover the letters."""
FLOW_LINES = 8
"""Largest number of flow lines of a body; they are spread over its tracks."""


def markers_array(types: Any, header: Any, result: FrameResult, rays: FloatArray,
                  previous_rays: FloatArray) -> Any:
    """Build the visualization_msgs/MarkerArray."""
    # A pixel outside the domain of the lens model has no ray.
    placed = np.isfinite(rays[:, 0] + previous_rays[:, 0])
    # The first marker removes everything that was drawn before; if its ns was not empty, RViz
    # would remove that namespace only. Two markers with the same ns and id are an error in RViz.
    clear = _marker(types, header, '', 0, 0)
    clear.action = types.Marker.DELETEALL
    markers = [clear]
    for body in result.motions:
        members = body.members[placed[body.members]]
        if not body.is_world and len(members):
            markers += _body_markers(types, header, body, rays[members], previous_rays[members])
    return types.MarkerArray(markers=markers)


def _body_markers(types: Any, header: Any, body: Motion, now: FloatArray, before: FloatArray
                  ) -> list[Any]:
    """Build the markers of a body from the rays of its tracks in both frames."""
    flow = _marker(types, header, 'flow', body.id, types.Marker.LINE_LIST, LINE_WIDTH)
    count = min(FLOW_LINES, len(now))
    chosen = np.arange(count) * (len(now) - 1) // max(1, count - 1)
    flow.points = _points(types, np.stack([before[chosen], now[chosen]], axis=1).reshape(-1, 3))
    name = _marker(types, header, 'names', body.id, types.Marker.TEXT_VIEW_FACING)
    name.scale = types.Vector3(x=SPACE_WIDTH, y=TEXT_HEIGHT, z=TEXT_HEIGHT)
    left, top, _ = now.min(axis=0).tolist()
    place = types.Point(x=(left + float(now[:, 0].max())) / 2, y=top - TEXT_HEIGHT,
                        z=TEXT_DEPTH)
    name.pose = types.Pose(position=place, orientation=name.pose.orientation)
    # Letters are thin: a dark colour of the palette could not be read on RViz's dark background.
    name.color = types.ColorRGBA(r=(1 + name.color.r) / 2, g=(1 + name.color.g) / 2,
                                 b=(1 + name.color.b) / 2, a=1.0)
    name.text = f'{body.id}: {100 * body.moving:.0f} %'
    if len(now) < 3:
        return [flow, name]
    outline = _marker(types, header, 'outline', body.id, types.Marker.LINE_STRIP, OUTLINE_WIDTH)
    hull = cv2.convexHull(now[:, :2].astype(np.float32))[:, 0].astype(np.float64)
    closed = np.ones((len(hull) + 1, 3))
    closed[:-1, :2], closed[-1, :2] = hull, hull[0]
    outline.points = _points(types, closed)
    return [flow, name, outline]


def _marker(types: Any, header: Any, ns: str, marker_id: int, kind: int, width: float = 0.0
            ) -> Any:
    """Build a marker of a motion; a copy of a complete one takes a tenth of the time."""
    marker = copy(_blank_marker(types))
    marker.header, marker.ns, marker.id, marker.type = header, ns, marker_id, kind
    red, green, blue = motion_rgb(marker_id)
    marker.color = types.ColorRGBA(r=red / 255, g=green / 255, b=blue / 255, a=1.0)
    marker.scale = types.Vector3(x=width, y=0.0, z=0.0)
    return marker


def _points(types: Any, points: FloatArray) -> list[Any]:
    point = types.Point
    return [point(x=x, y=y, z=z) for x, y, z in points.tolist()]


@lru_cache(maxsize=4)
def _blank_marker(types: MessageTypes) -> Any:
    """Return a marker with every field given: rosbags' classes have no defaults."""
    zero, nothing = types.Time(sec=0, nanosec=0), types.octets(b'')
    header = types.Header(stamp=zero, frame_id='')
    return types.Marker(
        header=header, ns='', id=0, type=0, action=0,
        pose=types.Pose(position=types.Point(x=0.0, y=0.0, z=0.0),
                        orientation=types.Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)),
        scale=types.Vector3(x=0.0, y=0.0, z=0.0),
        color=types.ColorRGBA(r=0.0, g=0.0, b=0.0, a=1.0),
        lifetime=types.Duration(sec=0, nanosec=0), frame_locked=False, points=[], colors=[],
        texture_resource='', texture=types.CompressedImage(header=header, format='', data=nothing),
        uv_coordinates=[], text='', mesh_resource='',
        mesh_file=types.MeshFile(filename='', data=nothing), mesh_use_embedded_materials=False)
