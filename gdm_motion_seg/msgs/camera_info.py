# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""CameraInfo messages to cameras, checked: a driver without a calibration sends zeros."""

from typing import Any

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.distortion import Camera


def decode_camera_info(message: Any) -> Camera:
    """Read a sensor_msgs/CameraInfo; raises InputError where it is no calibration."""
    try:
        return Camera.from_info(message.k, message.d, message.distortion_model[:40],
                                (int(message.width), int(message.height)))
    except InputError as error:
        raise InputError(f'camera_info is not used: {error}') from None


def check_fits(camera: Camera, camera_frame: str, size: tuple[int, int], frame_id: str) -> None:
    """Raise an InputError where a camera does not belong to an image of a size and a frame_id."""
    if camera.image_size != size:
        width, height = camera.image_size
        raise InputError(f'camera_info is not used: it is for images of {width} x {height}, '
                         f'but they have {size[0]} x {size[1]}')
    if camera_frame != frame_id:
        raise InputError(f'camera_info is not used: its frame_id is {camera_frame[:40]!r}, '
                         f'but that of the images is {frame_id[:40]!r}')
