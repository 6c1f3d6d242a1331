# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
``~/markers``: an outline, some flow lines and a name for each body, at depth 1 of the camera.

The tracks themselves are in ``~/keypoints``, whose points a viewer draws in the same colours. A
line for every track would take longer to build than the answer itself.
"""

from typing import Any

import cv2
import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion
from gdm_motion_seg.viz.colors import motion_rgb

LINE_WIDTH = 0.003
"""Width of a flow line at depth 1, about two pixels of a VGA camera."""
OUTLINE_WIDTH = 0.006
TEXT_HEIGHT = 0.04
SPACE_WIDTH = 0.02
"""Width of a space in a text; RViz takes that of a letter 1 m high where it is not given."""
FLOW_LINES = 8
"""Largest number of tracks of a body whose flow is drawn; they are spread over its tracks."""


def markers_array(types: Any, header: Any, result: FrameResult, rays: FloatArray,
                  previous_rays: FloatArray) -> Any:
    """
    Build the visualization_msgs/MarkerArray.

    Its first marker removes everything that was drawn before. RViz limits that to one namespace
    where ns is not empty, and calls two markers with the same ns and id an error.
    """
    # A pixel that the lens model cannot map has no place in space.
    placed = np.asarray(np.isfinite(rays + previous_rays).all(axis=1))
    make = _MarkerMaker(types, header)
    markers = [make('', 0, types.Marker.DELETEALL)]
    for body in result.motions:
        members = body.members[placed[body.members]]
        if not body.is_world and len(members):
            markers += _body_markers(make, body, rays[members], previous_rays[members])
    return types.MarkerArray(markers=markers)


def body_text(body: Motion) -> str:
    """Return the name of a body: its id, how sure it is that it moves, and its size."""
    return f'{body.id}: {100 * body.moving:.0f} % moving, {body.count} points'


def _body_markers(make: '_MarkerMaker', body: Motion, now: FloatArray, before: FloatArray
                  ) -> list[Any]:
    marker = make.types.Marker
    chosen = np.linspace(0, len(now) - 1, min(FLOW_LINES, len(now))).astype(np.int64)
    flow = np.stack([before[chosen], now[chosen]], axis=1).reshape(-1, 3)
    left, top = now.min(axis=0)[:2]
    place = (float(left + now.max(axis=0)[0]) / 2, float(top) - TEXT_HEIGHT, 1.0)
    markers = [
        make('flow', body.id, marker.ADD, marker.LINE_LIST, (LINE_WIDTH, 0.0, 0.0), flow),
        make('names', body.id, marker.ADD, marker.TEXT_VIEW_FACING,
             (SPACE_WIDTH, TEXT_HEIGHT, TEXT_HEIGHT), position=place, text=body_text(body))]
    if len(now) > 2:
        hull = cv2.convexHull(now[:, :2].astype(np.float32))[:, 0].astype(np.float64)
        closed = np.ones((len(hull) + 1, 3))
        closed[:-1, :2], closed[-1, :2] = hull, hull[0]
        markers.append(make('outline', body.id, marker.ADD, marker.LINE_STRIP,
                            (OUTLINE_WIDTH, 0.0, 0.0), closed))
    return markers


class _MarkerMaker:
    """Gives every field: rosbags' classes have no defaults. What is always the same is shared."""

    def __init__(self, types: Any, header: Any) -> None:
        self.types, self._header = types, header
        zero, nothing = types.Time(sec=0, nanosec=0), types.octets(b'')
        self._same = {
            'lifetime': types.Duration(sec=0, nanosec=0), 'frame_locked': False, 'colors': [],
            'texture_resource': '', 'texture': types.CompressedImage(
                header=types.Header(stamp=zero, frame_id=''), format='', data=nothing),
            'uv_coordinates': [], 'mesh_resource': '',
            'mesh_file': types.MeshFile(filename='', data=nothing),
            'mesh_use_embedded_materials': False}
        self._upright = types.Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)

    def __call__(self, ns: str, marker_id: int, action: int, kind: int = 0,
                 scale: tuple[float, float, float] = (0.0, 0.0, 0.0),
                 points: FloatArray | None = None,
                 position: tuple[float, float, float] = (0.0, 0.0, 0.0), text: str = '') -> Any:
        """Build a marker in the colour of the motion whose id it has."""
        point = self.types.Point
        red, green, blue = (channel / 255 for channel in motion_rgb(marker_id))
        return self.types.Marker(
            header=self._header, ns=ns, id=marker_id, type=kind, action=action,
            pose=self.types.Pose(position=point(**dict(zip('xyz', position))),
                                 orientation=self._upright),
            scale=self.types.Vector3(**dict(zip('xyz', scale))),
            color=self.types.ColorRGBA(r=red, g=green, b=blue, a=1.0),
            points=[] if points is None else [point(x=x, y=y, z=z)
                                              for x, y, z in points.tolist()],
            text=text, **self._same)
