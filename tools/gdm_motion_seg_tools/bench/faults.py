# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Faults of a camera, a driver or a bag, by name.

Tests send each of them to the node and check its reaction; the soak injects them at random.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed, encode_image
from gdm_motion_seg.msgs.types import MessageTypes

Image = npt.NDArray[np.uint8]
YEAR_NS = 365 * 24 * 3600 * 10**9


@dataclass(frozen=True)
class Moment:
    """A position in a stream of good frames at which a fault is injected."""

    types: MessageTypes
    image: Image
    """(H, W, 3) the good frame of this moment."""
    stamp: int
    """Its time in nanoseconds."""
    period: int
    """Time between two frames in nanoseconds."""
    frame_id: str
    rng: np.random.Generator

    @property
    def header(self) -> Any:
        """Return the header of the good frame."""
        return header_of(self.types, self.stamp, self.frame_id)

    @property
    def shape(self) -> tuple[int, int]:
        """Return height and width."""
        return self.image.shape[0], self.image.shape[1]

    def message(self, image: Image | None = None) -> Any:
        """Return an image message of this moment."""
        return encode_image(self.types, self.header, self.image if image is None else image)

    def at(self, stamp: int) -> 'Moment':
        """Return the same with another stamp."""
        return replace(self, stamp=stamp)


@dataclass(frozen=True)
class Fault:
    """One fault."""

    name: str
    make: Callable[[Moment], list[Any]]
    """Returns the messages that replace the good frame of a moment."""
    reason: str = ''
    """Part of the message in the diagnostics; empty if the results stay right."""


def _changed(moment: Moment, **fields: Any) -> list[Any]:
    message = moment.message()
    for name, value in fields.items():
        setattr(message, name, value)
    return [message]


def _with_data(moment: Moment, change: int) -> list[Any]:
    """Make the data longer or shorter by some bytes."""
    message = moment.message()
    data = bytes(message.data)
    data = data + bytes(change) if change > 0 else data[:change]
    return _changed(moment, data=moment.types.octets(data))


def _padded(moment: Moment) -> list[Any]:
    """Pad the rows with noise, by a number of bytes that is not a multiple of the pixel size."""
    height, width = moment.shape
    noise = moment.rng.integers(0, 256, (height, 7), np.uint8)
    rows = np.hstack([moment.image.reshape(height, -1), noise])
    return _changed(moment, step=width * 3 + 7, data=moment.types.octets(rows.reshape(-1)))


def _encodings(moment: Moment) -> list[Any]:
    """Send the frame in other encodings, with stamps between those of the good frames."""
    grey = cv2.cvtColor(moment.image, cv2.COLOR_BGR2GRAY)
    rgb = moment.message(np.ascontiguousarray(moment.image[..., ::-1]))
    rgb.encoding = 'rgb8'
    return [rgb, moment.at(moment.stamp + moment.period // 4).message(np.asarray(grey, np.uint8))]


def _big_endian(moment: Moment) -> list[Any]:
    grey = cv2.cvtColor(moment.image, cv2.COLOR_BGR2GRAY).astype('>u2') * 257
    return _changed(moment, encoding='mono16', is_bigendian=1, step=2 * grey.shape[1],
                    data=moment.types.octets(grey.astype('>u2').view(np.uint8).reshape(-1)))


def _sized(moment: Moment, width: int, height: int) -> list[Any]:
    grey = cv2.cvtColor(moment.image, cv2.COLOR_BGR2GRAY)
    return [moment.message(np.asarray(cv2.resize(grey, (width, height)), np.uint8))]


def _empty(moment: Moment) -> list[Any]:
    return _changed(moment, width=0, height=0, step=0, data=moment.types.octets(b''))


def _stamped(moment: Moment, stamp: int) -> list[Any]:
    return [moment.at(stamp).message()]


def _filled(moment: Moment, value: int) -> list[Any]:
    return [moment.message(np.full_like(moment.image, value))]


def _saturated(moment: Moment) -> list[Any]:
    bright = cv2.convertScaleAbs(moment.image, alpha=8.0, beta=150)
    return [moment.message(np.asarray(bright, np.uint8))]


def _textureless(moment: Moment) -> list[Any]:
    height, width = moment.shape
    ramp = np.linspace(80, 120, width).astype(np.uint8)
    return [moment.message(np.tile(ramp, (height, 1)))]


def _noise(moment: Moment) -> list[Any]:
    return [moment.message(moment.rng.integers(0, 256, moment.image.shape, np.uint8))]


def _repeated(moment: Moment, count: int) -> list[Any]:
    """Repeat the same image with new stamps."""
    return [moment.at(moment.stamp + i * moment.period // (2 * count)).message()
            for i in range(count)]


def _turning(moment: Moment, count: int = 8) -> list[Any]:
    """Rotate the camera about its optical axis: a homography without parallax."""
    height, width = moment.shape
    messages = []
    for i in range(count):
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), 1.5 * i, 1.0)
        picture = cv2.warpAffine(moment.image, turn, (width, height),
                                 borderMode=cv2.BORDER_REFLECT)
        stamp = moment.stamp + i * moment.period // (2 * count)
        messages.append(moment.at(stamp).message(np.asarray(picture, np.uint8)))
    return messages


def _dots(moment: Moment, number: int, count: int = 8) -> list[Any]:
    """Draw dots that move in different directions on a uniform background."""
    height, width = moment.shape
    corners = moment.rng.uniform((30, 30), (width - 30, height - 30), (number, 2))
    steps = moment.rng.normal(0.0, 1.5, (number, 2))
    messages = []
    for i in range(count):
        picture = np.full((height, width), 60, np.uint8)
        for x, y in corners + i * steps:
            cv2.rectangle(picture, (round(x), round(y)), (round(x) + 5, round(y) + 5), 220, -1)
        stamp = moment.stamp + i * moment.period // (2 * count)
        messages.append(moment.at(stamp).message(picture))
    return messages


IMAGE_FAULTS = (
    Fault('encoding changed in mid-stream', _encodings),
    Fault('unknown encoding', lambda m: _changed(m, encoding='vangogh8'), 'is not supported'),
    Fault('step smaller than a row', lambda m: _changed(m, step=10), 'step is 10 bytes'),
    Fault('step padded', _padded),
    Fault('data shorter', lambda m: _with_data(m, -1), 'data is shorter'),
    Fault('data longer', lambda m: _with_data(m, 100), 'data is longer'),
    Fault('0x0', _empty, 'the image is empty'),
    Fault('1x1', lambda m: _sized(m, 1, 1), 'at least 16 x 16'),
    Fault('8K', lambda m: _sized(m, 7680, 4320), 'the resolution changed'),
    Fault('resolution changed', lambda m: _sized(m, 200, 150), 'the resolution changed'),
    Fault('big-endian 16 bit', _big_endian),
    Fault('stamp equal', lambda m: _stamped(m, m.stamp - m.period), 'stamp as the previous'),
    Fault('stamp backwards', lambda m: _stamped(m, m.stamp - 3 * m.period), 'time jumped back'),
    Fault('stamp zero', lambda m: _stamped(m, 0), 'no time stamp'),
    Fault('stamp far in the future', lambda m: _stamped(m, m.stamp + YEAR_NS), 'no frame for'),
    Fault('bag loops', lambda m: _stamped(m, m.stamp - 7 * m.period), 'time jumped back'),
    Fault('frame dropped', lambda m: []),
    Fault('frame doubled', lambda m: [m.message(), m.message()], 'stamp as the previous'),
    Fault('frame delayed', lambda m: [m.message(), m.at(m.stamp - m.period // 2).message()],
          'time jumped back'),
    Fault('black', lambda m: _filled(m, 0), 'tracks reach over the gap'),
    Fault('white', lambda m: _filled(m, 255), 'tracks reach over the gap'),
    Fault('saturated', _saturated),
    Fault('textureless', _textureless, 'tracks reach over the gap'),
    Fault('pure noise', _noise),
    Fault('static scene', lambda m: _repeated(m, 8)),
    Fault('pure rotation', _turning),
    Fault('fewer than 8 tracks', lambda m: _dots(m, 1), 'tracks reach over the gap'),
    Fault('everything an outlier', lambda m: _dots(m, 60)),
)
"""Faults of sensor_msgs/Image."""


def _cut(moment: Moment, keep: float) -> list[Any]:
    message = encode_compressed(moment.types, moment.header, moment.image)
    data = bytes(message.data)
    message.data = moment.types.octets(data[:int(keep * len(data))])
    return [message]


def _bytes(moment: Moment, data: bytes) -> list[Any]:
    return [moment.types.CompressedImage(header=moment.header, format='jpeg',
                                         data=moment.types.octets(data))]


def _bomb(moment: Moment) -> list[Any]:
    """Claim 60000 x 60000 pixels in a file of a few bytes."""
    data = bytearray(cv2.imencode('.png', np.zeros((8, 8), np.uint8))[1].tobytes())
    data[16:24] = (60000).to_bytes(4, 'big') * 2
    return _bytes(moment, bytes(data))


def endless_chunk(moment: Moment) -> list[Any]:
    """Claim 2 GB for the first chunk after the header of a PNG file."""
    data = bytearray(cv2.imencode('.png', np.zeros((8, 8), np.uint8))[1].tobytes())
    data[33:37] = (2**31 - 1).to_bytes(4, 'big')
    return _bytes(moment, bytes(data))


def hidden_size(moment: Moment, side: int = 32000) -> list[Any]:
    """
    Put a small size where a simple parser looks, and a large one where libjpeg looks.

    libjpeg skips FF00 before a marker; a parser that takes it for a segment skips the true header.
    """
    file = bytearray(cv2.imencode('.jpg', np.zeros((16, 16), np.uint8))[1].tobytes())
    frame = file.index(b'\xff\xc0')
    small = bytes(file[frame:frame + 2 + int.from_bytes(file[frame + 2:frame + 4], 'big')])
    file[frame + 5:frame + 9] = side.to_bytes(2, 'big') * 2
    hidden = bytes(file[2:-2])
    return _bytes(moment, b'\xff\xd8\xff\x00' + (len(hidden) + 2).to_bytes(2, 'big') + hidden
                  + small + b'\xff\xd9')


def many_scans(moment: Moment, count: int = 1000) -> list[Any]:
    """Repeat the last scan of a progressive JPEG file; each takes the time of an image."""
    file = cv2.imencode('.jpg', moment.image, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes()
    return _bytes(moment, file[:-2] + file[file.rindex(b'\xff\xda'):-2] * count + file[-2:])


COMPRESSED_FAULTS = (
    Fault('compressed data truncated', lambda m: _cut(m, 0.6), 'truncated'),
    Fault('compressed data empty', lambda m: _cut(m, 0.0), 'is empty'),
    Fault('compressed data of a wrong format', lambda m: _bytes(m, b'GIF89a' + bytes(50)),
          'neither JPEG nor PNG'),
    Fault('decompression bomb', _bomb, '60000 x 60000 pixels, more than the limit'),
    Fault('PNG with an endless chunk', endless_chunk, 'truncated'),
    Fault('JPEG with a hidden size', hidden_size, 'is not allowed there'),
    Fault('JPEG with a thousand scans', many_scans, 'scans, too many'),
)
"""Faults of sensor_msgs/CompressedImage."""


def _info(moment: Moment, *, size: tuple[int, int] | None = None, frame_id: str | None = None,
          focal: float = 300.0, centre: float | None = None,
          d: tuple[float, ...] = (0.0,) * 5) -> list[Any]:
    height, width = moment.shape
    width, height = size or (width, height)
    x, y = (centre, centre) if centre is not None else (width / 2, height / 2)
    matrix = [focal, 0.0, x if focal else 0.0, 0.0, focal, y if focal else 0.0,
              0.0, 0.0, 1.0 if focal else 0.0]
    header = header_of(moment.types, moment.stamp,
                       moment.frame_id if frame_id is None else frame_id)
    region = moment.types.RegionOfInterest(x_offset=0, y_offset=0, height=0, width=0,
                                           do_rectify=False)
    return [moment.types.CameraInfo(
        header=header, height=height, width=width, distortion_model='plumb_bob',
        d=np.array(d), k=np.array(matrix), r=np.zeros(9), p=np.zeros(12), binning_x=0, binning_y=0,
        roi=region)]


CAMERA_INFO_FAULTS = (
    Fault('camera_info of zeros', lambda m: _info(m, focal=0.0), 'not calibrated'),
    Fault('camera_info of NaN', lambda m: _info(m, focal=float('nan')), 'must be finite'),
    Fault('camera_info with a tiny focal length', lambda m: _info(m, focal=1e-300),
          'not plausible for this image size'),
    Fault('camera_info with a far centre', lambda m: _info(m, centre=1e308),
          'not plausible for this image size'),
    Fault('camera_info with an empty D', lambda m: _info(m, d=())),
    Fault('camera_info of a wrong size', lambda m: _info(m, size=(1920, 1080)), '1920 x 1080'),
    Fault('camera_info of another frame_id', lambda m: _info(m, frame_id='wrist'), "'wrist'"),
)
"""Faults of sensor_msgs/CameraInfo."""
