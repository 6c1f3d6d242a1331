# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Decoding of compressed images with limits on memory and time.

JPEG and PNG files are checked before they are decoded. The check is strict: files that libjpeg or
libpng would repair or guess are refused, so that check and decoder see the same image size. For
other formats OpenCV has a limit, which it reads from the environment when it is loaded
(``OPENCV_IO_MAX_IMAGE_PIXELS``, see the package's ``__init__``).
"""

from pathlib import Path
import struct
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError

MAX_PIXELS = 100_000_000
"""Largest image that is read from a file."""
MAX_FILE_BYTES = 2**30
"""Largest file that is read as one image."""
MAX_SCANS = 64
"""Largest number of scans of a JPEG file: encoders write about ten, and each takes the time of a
whole image."""
MAX_SCANNED_PIXELS = 640_000_000
"""Largest product of pixels and scans of a JPEG file: some seconds of decoding."""
MAX_PACKED_CHUNKS = 16
"""Largest number of compressed PNG chunks that are not pixels; each has up to 8 MB."""

_PNG = b'\x89PNG\r\n\x1a\n'
_JPEG = b'\xff\xd8'
_JPEG_END = b'\xff\xd9'
_JPEG_SCAN = b'\xff\xda'
# ITU T.81, table B.1: baseline, extended and progressive, with Huffman or arithmetic coding.
_START_OF_FRAME = frozenset({0xC0, 0xC1, 0xC2, 0xC9, 0xCA})
# DHT, DAC, DQT, DRI, APP0 to APP15 and COM: the markers allowed before the start of frame.
_HEADER_MARKERS = frozenset({0xC4, 0xCC, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)})
_PNG_END = b'IEND\xaeB`\x82'
_PACKED_CHUNKS = frozenset({b'zTXt', b'iTXt', b'iCCP'})
_ANIMATION_CHUNKS = frozenset({b'acTL', b'fcTL', b'fdAT'})


def decode(data: bytes, flags: int, max_pixels: int) -> npt.NDArray[Any]:
    """
    Decode a JPEG or PNG file; raises InputError if it is another file, damaged or too large.

    Parameters
    ----------
    data
        The bytes of the file.
    flags
        Those of ``cv2.imdecode``.
    max_pixels
        Larger images are refused before memory is allocated for them.

    """
    width, height = compressed_size(data)
    if width == 0 or height == 0:
        raise InputError(f'the compressed image is empty ({width} x {height} pixels)')
    if width * height > max_pixels:
        raise InputError(f'the compressed image has {width} x {height} pixels, more than the '
                         f'limit of {max_pixels} (max_image_pixels)')
    if data.startswith(_JPEG):
        _check_scans(data, width * height)
    image = _imdecode(data, flags)
    if sorted(image.shape[:2]) != sorted((width, height)):
        raise InputError(f'the compressed image has {image.shape[1]} x {image.shape[0]} pixels, '
                         f'but its header says {width} x {height}')
    return image


def decode_file(path: Path, flags: int, max_pixels: int = MAX_PIXELS) -> npt.NDArray[Any]:
    """Read an image file of any format of OpenCV; raises InputError or OSError."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f'{path} is larger than {MAX_FILE_BYTES >> 20} MiB')
    # Read the bytes here: OpenCV would report a missing permission as "cannot be decoded".
    data = path.read_bytes()
    try:
        if data.startswith((_JPEG, _PNG)):
            return decode(data, flags, max_pixels)
        image = _imdecode(data, flags)
    except InputError as error:
        raise InputError(f'{path} cannot be decoded as an image: {error}') from None
    if image.shape[0] * image.shape[1] > max_pixels:
        raise InputError(f'{path} has {image.shape[1]} x {image.shape[0]} pixels, more than the '
                         f'limit of {max_pixels}')
    return image


def _imdecode(data: bytes, flags: int) -> npt.NDArray[Any]:
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), flags) if data else None
    except (cv2.error, MemoryError):
        image = None
    if image is None:
        raise InputError(f'the {len(data)} bytes of the image cannot be decoded')
    return np.asarray(image)


def compressed_size(data: bytes) -> tuple[int, int]:
    """
    Return width and height of a complete JPEG or PNG file; raises InputError otherwise.

    Decoders fill the missing part of a truncated file with grey, which would be tracked. So
    truncated files are refused.
    """
    if not data:
        raise InputError('the compressed image is empty')
    if data.startswith(_PNG):
        size, end = _png_size(data), data.rfind(_PNG_END)
    elif data.startswith(_JPEG):
        size, end = _jpeg_size(data), data.rfind(_JPEG_END)
    else:
        raise InputError('the compressed image is neither JPEG nor PNG (it begins with '
                         f'{data[:4].hex(" ")})')
    if end < 0:
        raise InputError(f'the compressed image is truncated (it ends after {len(data)} bytes)')
    return size


def _png_size(data: bytes) -> tuple[int, int]:
    """Return the size in the header, and check the type of every chunk."""
    if len(data) < 33 or data[8:16] != b'\0\0\0\rIHDR':
        raise InputError('the PNG image ends within its header')
    at, packed = 8, 0
    while at + 8 <= len(data):
        length, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind in _ANIMATION_CHUNKS:
            raise InputError('the PNG image is an animation')
        packed += kind in _PACKED_CHUNKS
        if packed > MAX_PACKED_CHUNKS:
            raise InputError(f'the PNG image has more than {MAX_PACKED_CHUNKS} compressed texts')
        # OpenCV takes memory for the length that a chunk claims, twice, before it reads the chunk.
        if at + 12 + length > len(data):
            raise InputError(f'the PNG image is truncated (the chunk at byte {at} claims {length} '
                             f'of {len(data)} bytes)')
        if kind == b'IEND':
            break
        at += 12 + length
    width, height = struct.unpack('>II', data[16:24])
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Walk from marker to marker until the start of frame."""
    at, end = 2, len(data)
    while at + 4 <= end:
        if data[at] != 0xFF:
            raise InputError(f'the JPEG image is damaged at byte {at}')
        marker = data[at + 1]
        if marker == 0xFF:  # there may be fill bytes before a marker
            at += 1
            continue
        length = struct.unpack('>H', data[at + 2:at + 4])[0]
        if marker in _START_OF_FRAME:
            if at + 9 > end:
                break
            height, width = struct.unpack('>HH', data[at + 5:at + 9])
            return width, height
        if marker not in _HEADER_MARKERS or length < 2:
            raise InputError(f'the JPEG image has the marker {marker:02x} at byte {at}, which '
                             'is not allowed there')
        at += 2 + length
    raise InputError('the JPEG image ends within its header')


def _check_scans(data: bytes, pixels: int) -> None:
    """Limit the time of decoding, which grows with pixels and scans."""
    scans = data.count(_JPEG_SCAN)
    if scans > MAX_SCANS or scans * pixels > MAX_SCANNED_PIXELS:
        raise InputError(f'the JPEG image has {scans} scans, too many for {pixels} pixels')
