# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of images to 8-bit grey."""

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError

GreyImage = npt.NDArray[np.uint8]

MIN_SIDE = 16
"""Smallest image side in pixels that can be tracked."""


class GreyConverter:
    """
    Converts grey, BGR or BGRA images of 8 or 16 bits to 8-bit grey images.

    The range of 16-bit images is unknown (10, 12 and 16 bits are common). It is taken from the
    first image and kept: Lucas-Kanade assumes constant brightness, which a separate scale for each
    image would violate.
    """

    def __init__(self, max_pixels: int) -> None:
        """Make a converter that refuses images of more than max_pixels."""
        self._max_pixels = max_pixels
        self._range: tuple[float, float] | None = None

    def reset(self) -> None:
        """Forget the range of 16-bit images."""
        self._range = None

    def convert(self, image: npt.NDArray[np.generic]) -> GreyImage:
        """Return the grey image, a copy; raises InputError if the image cannot be converted."""
        # A copy, because the next frame is compared with it, and drivers reuse their buffers.
        check_image(image, self._max_pixels)
        if image.dtype == np.uint16:
            image = self._to_8_bit(image)
        if image.ndim == 2 or image.shape[2] == 1:
            return np.array(image.reshape(image.shape[:2]), np.uint8, order='C')
        code = cv2.COLOR_BGR2GRAY if image.shape[2] == 3 else cv2.COLOR_BGRA2GRAY
        return np.asarray(cv2.cvtColor(np.asarray(image, np.uint8), code))

    def _to_8_bit(self, image: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
        sample = image[::4, ::4]
        low, high = (float(v) for v in np.percentile(np.asarray(sample, np.float32), (0.5, 99.5)))
        if self._range is None or not _still_fits(self._range, low, high):
            # A margin of a fifth allows for changes of the light.
            margin = max(1.0, 0.2 * (high - low))
            self._range = (max(0.0, low - margin), high + margin)
        low, high = self._range
        scale = 255.0 / (high - low)
        return np.asarray(cv2.convertScaleAbs(np.maximum(image, np.uint16(low)), alpha=scale,
                                              beta=-low * scale))


def check_image(image: npt.NDArray[np.generic], max_pixels: int) -> None:
    """Raise InputError if the array is not an image, or has a size that cannot be tracked."""
    check_array(image)
    height, width = image.shape[:2]
    if min(height, width) < MIN_SIDE:
        raise InputError(f'image must be at least {MIN_SIDE} x {MIN_SIDE} pixels, '
                         f'got {width} x {height}')
    if height * width > max_pixels:
        raise InputError(f'image must have at most {max_pixels} pixels (max_image_pixels), '
                         f'got {width} x {height}')


def check_array(image: npt.NDArray[np.generic]) -> None:
    """Raise InputError if the array is not an 8- or 16-bit image with 1, 3 or 4 channels."""
    if not isinstance(image, np.ndarray) or image.ndim not in (2, 3) or (
            image.ndim == 3 and image.shape[2] not in (1, 3, 4)):
        shape = getattr(image, 'shape', type(image).__name__)
        raise InputError('image must be an array of the shape (height, width), (height, width, 3) '
                         f'or (height, width, 4), got {shape}')
    if image.dtype not in (np.uint8, np.uint16):
        raise InputError(f'image must be of type uint8 or uint16, got {image.dtype}')


def _still_fits(known: tuple[float, float], low: float, high: float) -> bool:
    span = known[1] - known[0]
    return low >= known[0] - 0.1 * span and high <= known[1] + 0.1 * span and (
        high - low >= 0.1 * span)
