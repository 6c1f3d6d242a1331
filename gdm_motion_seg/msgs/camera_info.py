# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""CameraInfo messages to a camera model, checked: a driver that has no calibration sends zeros."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import FloatArray

_PINHOLE = {'': (0, 4, 5, 8, 12, 14), 'plumb_bob': (0, 4, 5), 'rational_polynomial': (0, 4, 5, 8, 12, 14)}
_FISHEYE = {'equidistant': (0, 4), 'fisheye': (0, 4)}
GUESSED_FOCAL = 1.2
"""Focal length over the longer side of the image, where no calibration is known."""


@dataclass(frozen=True)
class Camera:
    """What maps pixels to rays."""

    size: tuple[int, int]
    """Width and height of the images that it holds for."""
    matrix: FloatArray
    """(3, 3) intrinsic matrix K."""
    distortion: FloatArray
    """Coefficients in the order of OpenCV and ROS; empty if there is none."""
    fisheye: bool = False
    """Whether the distortion is the equidistant one."""
    frame_id: str = ''

    @classmethod
    def guess(cls, size: tuple[int, int]) -> 'Camera':
        """Return a plausible camera for images of a size: RViz needs rays even without a calibration."""
        width, height = size
        focal = GUESSED_FOCAL * max(size)
        return cls(size, np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2],
                                   [0, 0, 1]]), np.zeros(0))

    def rays(self, pixels: FloatArray) -> FloatArray:
        """Return the (N, 2) directions x, y at depth 1 of (N, 2) pixels."""
        if len(pixels) == 0:
            return np.zeros((0, 2))
        points = pixels.reshape(-1, 1, 2)
        if self.fisheye:
            rays = cv2.fisheye.undistortPoints(points, self.matrix, self.distortion)
        else:
            rays = cv2.undistortPoints(points, self.matrix, self.distortion)
        plain = (pixels - self.matrix[:2, 2]) / self.matrix[[0, 1], [0, 1]]
        rays = np.asarray(rays, np.float64).reshape(-1, 2)
        # Beyond the range in which the distortion can be inverted the undistorted point may fly off.
        return np.where(np.isfinite(rays) & (np.abs(rays) < 1e3), rays, plain)


def decode_camera_info(message: Any) -> Camera:
    """Read a sensor_msgs/CameraInfo; raises InputError with the reason where it is no calibration."""
    size = int(message.width), int(message.height)
    matrix = np.array(message.k, np.float64)
    distortion = np.array(message.d, np.float64)
    if not np.any(matrix):
        raise InputError('camera_info is not calibrated (K is all zeros)')
    if not (np.isfinite(matrix).all() and np.isfinite(distortion).all()):
        raise InputError('camera_info holds numbers that are not finite')
    matrix = matrix.reshape(3, 3)
    if min(matrix[0, 0], matrix[1, 1]) <= 0 or matrix[2].tolist() != [0, 0, 1] or matrix[1, 0] != 0:
        raise InputError(f'K of camera_info is no intrinsic matrix: {matrix.tolist()}')
    model = message.distortion_model
    counts = (_PINHOLE | _FISHEYE).get(model)
    if counts is None:
        raise InputError(f'the distortion model {model[:40]!r} of camera_info is not supported')
    if distortion.size not in counts:
        raise InputError(f'camera_info has {distortion.size} distortion coefficients, the model '
                         f'{model!r} has {" or ".join(map(str, counts))}')
    if min(size) <= 0:
        raise InputError(f'camera_info is for images of {size[0]} x {size[1]} pixels')
    if model in _FISHEYE and distortion.size == 0:
        distortion = np.zeros(4)
    return Camera(size, matrix, distortion, model in _FISHEYE, message.header.frame_id)


def check_fits(camera: Camera, size: tuple[int, int], frame_id: str) -> None:
    """Raise an InputError where a camera does not belong to an image."""
    if camera.size != size:
        raise InputError(f'camera_info is for images of {camera.size[0]} x {camera.size[1]} pixels, '
                         f'but they have {size[0]} x {size[1]}')
    if camera.frame_id != frame_id:
        raise InputError(f'camera_info has the frame_id {camera.frame_id[:40]!r}, but the images '
                         f'have {frame_id[:40]!r}')
