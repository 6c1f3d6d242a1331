# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The size of a compressed image, and whether it is all there, without decoding it."""

import struct

from gdm_motion_seg.errors import InputError

_PNG = b'\x89PNG\r\n\x1a\n'
_JPEG = b'\xff\xd8'
# SOF0 to SOF15 without DHT, JPG and DAC, which share their range (ITU T.81, table B.1).
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_END = b'\xff\xd9'
_PNG_END = b'IEND\xaeB`\x82'
_WITHOUT_LENGTH = frozenset(range(0xD0, 0xD9)) | {0x01}


def compressed_size(data: bytes) -> tuple[int, int]:
    """
    Return width and height of a whole JPEG or PNG file, or raise an InputError.

    Decoders fill what is missing from a truncated file with grey, which would be tracked; so the
    end must be there.
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
    header = data[8:24]
    if len(header) < 16 or header[4:8] != b'IHDR':
        raise InputError('the PNG image ends within its header')
    width, height = struct.unpack('>II', header[8:])
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Walk from marker to marker until the start of frame."""
    at, end = 2, len(data)
    while at + 4 <= end:
        if data[at] != 0xFF:
            raise InputError(f'the JPEG image is damaged at byte {at}')
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes may stand before a marker
            at += 1
            continue
        if marker in _WITHOUT_LENGTH:
            at += 2
            continue
        if marker in _START_OF_FRAME:
            if at + 9 > end:
                break
            height, width = struct.unpack('>HH', data[at + 5:at + 9])
            return width, height
        at += 2 + max(2, struct.unpack('>H', data[at + 2:at + 4])[0])
    raise InputError('the JPEG image ends within its header')
