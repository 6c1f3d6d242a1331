# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Conversion between image messages and arrays, and of calibrations.

Every message is checked before its data are read: a header that contradicts the data raises an
InputError with the reason. The result is always grey (height, width) or BGR (height, width, 3),
with 8 or 16 bits as in the message. If the message already has that form, the result is a view and
nothing is copied.
"""

from dataclasses import dataclass
from functools import lru_cache
import sys
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.tracking.config import TrackingConfig

ImageArray = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

FOCAL_RANGE = 0.01, 1000.0
"""Plausible focal lengths, in longer image sides: from a fisheye lens to a telescope."""
CENTRE_RANGE = 10.0
"""Largest distance of the principal point from the image corner, in longer image sides."""
MAX_PIXELS = TrackingConfig.max_image_pixels
"""Default limit of the image size in pixels."""


@dataclass(frozen=True)
class _Encoding:
    dtype: type
    channels: int
    to_bgr: int | None = None
    """Colour conversion code of OpenCV; None if the pixels are grey or BGR already."""


def _encodings() -> dict[str, _Encoding]:
    table: dict[str, _Encoding] = {}
    for bits, dtype in ((8, np.uint8), (16, np.uint16)):
        grey = 'mono8' if bits == 8 else 'mono16'
        table |= {grey: _Encoding(dtype, 1), f'{bits}UC1': _Encoding(dtype, 1),
                  f'bgr{bits}': _Encoding(dtype, 3), f'{bits}UC3': _Encoding(dtype, 3),
                  f'rgb{bits}': _Encoding(dtype, 3, cv2.COLOR_RGB2BGR),
                  f'bgra{bits}': _Encoding(dtype, 4, cv2.COLOR_BGRA2BGR),
                  f'{bits}UC4': _Encoding(dtype, 4, cv2.COLOR_BGRA2BGR),
                  f'rgba{bits}': _Encoding(dtype, 4, cv2.COLOR_RGBA2BGR)}
        # ROS names a Bayer pattern from its first pixel on, OpenCV from row 1 and column 1 on.
        for ros, opencv in (('rggb', 'BG'), ('bggr', 'RG'), ('gbrg', 'GR'), ('grbg', 'GB')):
            code = getattr(cv2, f'COLOR_Bayer{opencv}2BGR')
            table[f'bayer_{ros}{bits}'] = _Encoding(dtype, 1, code)
    for name in ('yuv422', 'uyvy'):
        table[name] = _Encoding(np.uint8, 2, cv2.COLOR_YUV2BGR_UYVY)
    for name in ('yuv422_yuy2', 'yuyv'):
        table[name] = _Encoding(np.uint8, 2, cv2.COLOR_YUV2BGR_YUY2)
    return table


ENCODINGS = _encodings()
"""The supported encodings of sensor_msgs/Image."""


def decode_image(message: Any, max_pixels: int = MAX_PIXELS) -> ImageArray:
    """
    Convert a sensor_msgs/Image, of ROS 2 or of rosbags, to grey or BGR.

    Images of more than ``max_pixels`` are refused. cv_bridge is used if it is installed; the
    result is the same.
    """
    encoding = _check_layout(message, max_pixels)
    pixels = pixels_by_cv_bridge(message, encoding)
    if pixels is None:
        pixels = _pixels(message, encoding)
    if encoding.to_bgr is not None:
        pixels = np.asarray(cv2.cvtColor(pixels, encoding.to_bgr))
    return pixels


def _check_layout(message: Any, max_pixels: int) -> _Encoding:
    """Return the encoding; raises InputError if the header contradicts the data."""
    width, height, step = int(message.width), int(message.height), int(message.step)
    if width == 0 or height == 0:
        raise InputError(f'the image is empty ({width} x {height} pixels)')
    if width * height > max_pixels:
        raise InputError(f'the image has {width} x {height} pixels, more than the limit of '
                         f'{max_pixels} (max_image_pixels)')
    encoding = ENCODINGS.get(message.encoding)
    if encoding is None:
        raise InputError(f'the encoding {_quoted(message.encoding)} is not supported')
    if encoding.to_bgr in (cv2.COLOR_YUV2BGR_UYVY, cv2.COLOR_YUV2BGR_YUY2) and width % 2:
        raise InputError(f'a {message.encoding} image must have an even width, got {width}')
    row = width * encoding.channels * np.dtype(encoding.dtype).itemsize
    if step < row:
        raise InputError(f'step is {step} bytes, but a row of {width} {message.encoding} pixels '
                         f'takes {row}')
    if len(message.data) != height * step:
        relation = 'shorter' if len(message.data) < height * step else 'longer'
        raise InputError(f'the data is {relation} than the header says: {len(message.data)} bytes '
                         f'instead of {height} rows x {step}')
    return encoding


def _pixels(message: Any, encoding: _Encoding) -> npt.NDArray[Any]:
    """View the data as pixels in native byte order, without the padding of rows."""
    dtype = np.dtype(encoding.dtype).newbyteorder('>' if message.is_bigendian else '<')
    shape: tuple[int, ...] = (int(message.height), int(message.width))
    strides: tuple[int, ...] = (int(message.step), dtype.itemsize * encoding.channels)
    if encoding.channels > 1:
        shape += (encoding.channels,)
        strides += (dtype.itemsize,)
    view: npt.NDArray[Any] = np.ndarray(shape, dtype, buffer=message.data, strides=strides)
    aligned = message.step % dtype.itemsize == 0
    return view if dtype.isnative and aligned else view.astype(dtype.newbyteorder('='))


@lru_cache(maxsize=1)
def cv_bridge_or_none() -> Any:
    """Return a CvBridge of ROS 2; None if it is not installed or does not work."""
    try:
        import cv_bridge
        return cv_bridge.CvBridge()
    except Exception:  # a broken installation may raise any exception; cv_bridge is optional
        return None


def pixels_by_cv_bridge(message: Any, encoding: _Encoding) -> npt.NDArray[Any] | None:
    """Return the pixels of a checked message; None if cv_bridge cannot convert it."""
    # It skews images whose step is not a multiple of the pixel size, and fails on big-endian ones.
    whole = message.step % (np.dtype(encoding.dtype).itemsize * encoding.channels) == 0
    bridge = cv_bridge_or_none()
    if message.is_bigendian or not whole or bridge is None:
        return None
    try:
        found = np.asarray(bridge.imgmsg_to_cv2(message, desired_encoding='passthrough'))
    except Exception:  # as above
        return None
    shape = (message.height, message.width, encoding.channels)[:2 if encoding.channels == 1 else 3]
    return found if found.shape == shape and found.dtype == encoding.dtype else None


def _quoted(text: str, limit: int = 40) -> str:
    """Quote text from a message, shortened and without line breaks."""
    return repr(text if len(text) <= limit else text[:limit] + '...')


def decode_compressed(message: Any, max_pixels: int = MAX_PIXELS) -> ImageArray:
    """Convert a sensor_msgs/CompressedImage (JPEG or PNG) to 8-bit grey or BGR."""
    from gdm_motion_seg.decoding import decode  # a camera of raw images does not need it

    # The header is checked first, so that a small message cannot use much memory or time.
    image = decode(bytes(message.data), cv2.IMREAD_ANYCOLOR | cv2.IMREAD_IGNORE_ORIENTATION,
                   max_pixels)
    return np.asarray(image, np.uint8)


def encode_image(types: Any, header: Any, image: npt.NDArray[np.uint8] | npt.NDArray[np.int32]
                 ) -> Any:
    """Build a sensor_msgs/Image from 8-bit grey or BGR (mono8, bgr8) or from ids (32SC1)."""
    pixels = np.ascontiguousarray(image)
    height, width = pixels.shape[:2]
    encoding = '32SC1' if pixels.dtype == np.int32 else 'mono8' if pixels.ndim == 2 else 'bgr8'
    return types.Image(
        header=header, height=height, width=width, encoding=encoding,
        is_bigendian=int(sys.byteorder == 'big'), step=pixels.nbytes // height,
        data=types.octets(pixels.view(np.uint8).reshape(-1)))


def encode_compressed(types: Any, header: Any, image: npt.NDArray[np.uint8],
                      quality: int = 90) -> Any:
    """Build a sensor_msgs/CompressedImage (JPEG) from 8-bit grey or BGR."""
    _, data = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return types.CompressedImage(header=header, format='jpeg', data=types.octets(data.reshape(-1)))


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
