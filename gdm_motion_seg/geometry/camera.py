# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The camera: its matrix, its lens, and pixels freed from the lens."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.errors import InputError

FISHEYE_MODELS = ('equidistant', 'fisheye')
GUESSED_FOCAL = 1.2
"""Focal length over the longer image side where nothing is known: a lens of 45 degrees, about the
middle of what robots carry. Motions fitted with it were as good as with the true one."""
_COEFFICIENTS = {'plumb_bob': (4, 5), 'rational_polynomial': (8, 12, 14),
                 'equidistant': (4,), 'fisheye': (4,)}
_CRITERIA = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 100, 1e-9)
_ROUND_TRIP_PX = 0.5


@dataclass(frozen=True)
class Camera:
    """A camera matrix and a lens, checked once."""

    matrix: FloatArray
    """(3, 3) K, in pixels."""
    distortion: FloatArray
    """Coefficients D of the model; empty without distortion."""
    model: str
    """plumb_bob, rational_polynomial, equidistant, or empty without distortion."""
    image_size: tuple[int, int]
    """Width and height in pixels."""
    is_guess: bool = False
    """Whether K is only the usual guess."""

    @classmethod
    def guess(cls, image_size: tuple[int, int]) -> 'Camera':
        """
        Return the camera of which only the image size (width, height) is known.

        Its focal length is 1.2 times the longer side, its centre that of the image.

        >>> Camera.guess((640, 480)).matrix.tolist()
        [[768.0, 0.0, 320.0], [0.0, 768.0, 240.0], [0.0, 0.0, 1.0]]
        """
        width, height = _image_size(image_size)
        focal = GUESSED_FOCAL * max(width, height)
        k = np.array([[focal, 0.0, 0.5 * width], [0.0, focal, 0.5 * height], [0.0, 0.0, 1.0]])
        return cls(k, np.zeros(0), '', (width, height), is_guess=True)

    @classmethod
    def from_info(cls, k: npt.ArrayLike, d: npt.ArrayLike, model: str,
                  image_size: tuple[int, int]) -> 'Camera':
        """
        Return the camera of the fields of a sensor_msgs/CameraInfo.

        ``d`` may be empty or all zero for no distortion, and ``model`` is then not looked at.
        InputError if the camera is not calibrated (K of zeros), K or D are not finite, K is no
        camera matrix, the model is unknown, or D has a length that the model does not have.
        """
        matrix = _camera_matrix(k)
        coefficients = _numbers('D', d).ravel()
        if not np.any(coefficients):
            return cls(matrix, np.zeros(0), '', _image_size(image_size))
        if model not in _COEFFICIENTS:
            known = ', '.join(_COEFFICIENTS)
            raise InputError(f'distortion_model must be one of {known}, got {model!r}')
        if len(coefficients) not in _COEFFICIENTS[model]:
            lengths = ' or '.join(str(n) for n in _COEFFICIENTS[model])
            raise InputError(f'D of the model {model} must have {lengths} coefficients, '
                             f'got {len(coefficients)}')
        return cls(matrix, coefficients, model, _image_size(image_size))

    @property
    def is_distorted(self) -> bool:
        """Whether undistortion changes anything."""
        return len(self.distortion) > 0

    @cached_property
    def _inverse(self) -> FloatArray:
        """Inverse of K."""
        return np.asarray(np.linalg.inv(self.matrix))

    def rays(self, points: npt.ArrayLike) -> FloatArray:
        """
        Return the directions (N, 3), as (x, y, 1), in which the camera sees pixels (N, 2).

        NaN for pixels where the lens model has no inverse (outside of what it was calibrated for,
        or 90 degrees and more off the axis).
        """
        pixels = _pixel_array(points)
        homogeneous = np.ones((len(pixels), 3))
        homogeneous[:, :2] = pixels
        if not self.is_distorted or not len(pixels):
            return np.asarray(homogeneous @ self._inverse.T)
        homogeneous[:, :2] = self._inverse_lens(pixels)
        bad = ~self._is_round_trip(homogeneous, pixels)
        homogeneous[bad] = np.nan
        return homogeneous

    def undistort(self, points: npt.ArrayLike) -> FloatArray:
        """Return the pixels (N, 2) of a camera with the same K and no lens; NaN as in rays."""
        pixels = _pixel_array(points)
        if not self.is_distorted:
            return np.asarray(pixels.copy())
        return np.asarray((self.rays(pixels) @ self.matrix.T)[:, :2])

    def _inverse_lens(self, pixels: FloatArray) -> FloatArray:
        source = pixels.reshape(-1, 1, 2)
        if self.model in FISHEYE_MODELS:
            rays = cv2.fisheye.undistortPoints(source, self.matrix, self.distortion)
        else:
            rays = cv2.undistortPointsIter(source, self.matrix, self.distortion, None, None,
                                           _CRITERIA)
        return np.asarray(rays.reshape(-1, 2))

    def _is_round_trip(self, rays: FloatArray, pixels: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether the rays project back onto their pixels: OpenCV's inverses fail in silence."""
        finite: npt.NDArray[np.bool_] = np.all(np.abs(rays) < 1e5, axis=1)
        safe = np.where(finite[:, None], rays, 0.0)
        zero = np.zeros(3)
        if self.model in FISHEYE_MODELS:
            back = cv2.fisheye.distortPoints(safe[:, None, :2], self.matrix, self.distortion)
        else:
            safe[:, 2] = 1.0
            back = cv2.projectPoints(safe, zero, zero, self.matrix, self.distortion)[0]
        error = np.abs(back.reshape(-1, 2) - pixels).max(axis=1)
        return np.asarray(finite & (error < _ROUND_TRIP_PX))


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f'{name} must be numbers') from None
    if not np.isfinite(array).all():
        raise InputError(f'{name} must be finite, got {array.ravel().tolist()}')
    return array


def _camera_matrix(k: npt.ArrayLike) -> FloatArray:
    matrix = _numbers('K', k)
    if matrix.size != 9:
        raise InputError(f'K must have 9 entries, got {matrix.size}')
    matrix = matrix.reshape(3, 3)
    if not matrix.any():
        raise InputError('K is all zero: the camera is not calibrated')
    if matrix[0, 0] <= 0.0 or matrix[1, 1] <= 0.0:
        raise InputError('the focal lengths of K must be positive, got '
                         f'{matrix[0, 0]:g} and {matrix[1, 1]:g}')
    if matrix[2].tolist() != [0.0, 0.0, 1.0] or matrix[1, 0] != 0.0:
        raise InputError('K must be upper triangular with 1 at the end, got '
                         f'{matrix.ravel().tolist()}')
    return matrix


def _image_size(image_size: tuple[int, int]) -> tuple[int, int]:
    width, height = (int(s) for s in image_size)
    if width <= 0 or height <= 0:
        raise InputError(f'image_size must be positive, got {width} x {height}')
    return width, height


def _pixel_array(points: npt.ArrayLike) -> FloatArray:
    array = np.ascontiguousarray(points, np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f'points must have the shape (N, 2), got {array.shape}')
    return array
