# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""CameraInfo messages to cameras, checked: a driver without a calibration sends zeros."""

from typing import Any

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera

FOCAL_RANGE = 0.01, 1000.0
"""Focal lengths in longer image sides: from a fisheye of 180 degrees to a telescope, with room."""
CENTRE_RANGE = 10.0
"""The largest distance of the principal point from the image's corner, in longer image sides."""


def decode_camera_info(message: Any) -> Camera:
    """Read a sensor_msgs/CameraInfo; raises InputError where it is no calibration."""
    try:
        camera = Camera.from_info(message.k, message.d, message.distortion_model[:40],
                                  (int(message.width), int(message.height)))
        _check_plausible(camera)
    except InputError as error:
        raise InputError(f'camera_info is not used: {error}') from None
    return camera


def _check_plausible(camera: Camera) -> None:
    """Refuse numbers with which rays would overflow or vanish."""
    side, k = max(camera.image_size), camera.matrix
    focal_lengths, offsets = (k[0, 0], k[1, 1]), (k[0, 2], k[1, 2], k[0, 1])
    if not all(FOCAL_RANGE[0] * side <= f <= FOCAL_RANGE[1] * side for f in focal_lengths) or any(
            abs(offset) > CENTRE_RANGE * side for offset in offsets):
        raise InputError(f'K is that of no camera of this size ({camera.image_size[0]} x '
                         f'{camera.image_size[1]}): {k.ravel().tolist()}')


def check_fits(camera: Camera, camera_frame: str, size: tuple[int, int], frame_id: str) -> None:
    """Raise an InputError where a camera does not belong to an image of a size and a frame_id."""
    if camera.image_size != size:
        width, height = camera.image_size
        raise InputError(f'camera_info is not used: it is for images of {width} x {height}, '
                         f'but they have {size[0]} x {size[1]}')
    if camera_frame != frame_id:
        raise InputError(f'camera_info is not used: its frame_id is {camera_frame[:40]!r}, '
                         f'but that of the images is {frame_id[:40]!r}')
