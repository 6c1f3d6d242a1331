# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of CameraInfo messages; a driver without a calibration sends zeros."""

from typing import Any

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera

FOCAL_RANGE = 0.01, 1000.0
"""Plausible focal lengths, in longer image sides: from a fisheye lens to a telescope."""
CENTRE_RANGE = 10.0
"""Largest distance of the principal point from the image corner, in longer image sides."""


def decode_camera_info(message: Any) -> Camera:
    """Convert a sensor_msgs/CameraInfo; raises InputError if it is not a calibration."""
    try:
        camera = Camera.from_info(message.k, message.d, message.distortion_model[:40],
                                  (int(message.width), int(message.height)))
        _check_plausible(camera)
    except InputError as error:
        raise InputError(f'camera_info is not used: {error}') from None
    return camera


def _check_plausible(camera: Camera) -> None:
    """Refuse numbers for which rays would overflow or underflow."""
    side, k = max(camera.image_size), camera.matrix
    focal_lengths, offsets = (k[0, 0], k[1, 1]), (k[0, 2], k[1, 2], k[0, 1])
    if not all(FOCAL_RANGE[0] * side <= f <= FOCAL_RANGE[1] * side for f in focal_lengths) or any(
            abs(offset) > CENTRE_RANGE * side for offset in offsets):
        raise InputError(f'K is not plausible for this image size ({camera.image_size[0]} x '
                         f'{camera.image_size[1]}): {k.ravel().tolist()}')


def check_fits(camera: Camera, camera_frame: str, size: tuple[int, int], frame_id: str) -> None:
    """Raise InputError if a camera does not fit the size and the frame_id of an image."""
    if camera.image_size != size:
        width, height = camera.image_size
        raise InputError(f'camera_info is not used: it is for images of {width} x {height}, '
                         f'but they have {size[0]} x {size[1]}')
    if camera_frame != frame_id:
        raise InputError(f'camera_info is not used: its frame_id is {camera_frame[:40]!r}, '
                         f'but that of the images is {frame_id[:40]!r}')
