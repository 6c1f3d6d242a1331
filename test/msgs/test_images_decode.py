# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of image messages: all encodings, and invalid headers."""

from types import SimpleNamespace
from zlib import crc32

import cv2
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.msgs import images
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import (decode_compressed, decode_image, encode_compressed,
                                        encode_image, ENCODINGS)
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.bench.faults import endless_chunk, hidden_size, many_scans, Moment

HEIGHT, WIDTH = 6, 8
RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (HEIGHT, WIDTH), np.uint8)
BGR = RNG.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
GREY16 = RNG.integers(0, 65536, (HEIGHT, WIDTH), np.uint16)


def message(pixels, kind, padding=0, big_endian=False, **changes):
    """Build an image message of an encoding, its rows padded with noise."""
    rows = pixels.astype(pixels.dtype.newbyteorder('>' if big_endian else '<'))
    rows = np.ascontiguousarray(rows).view(np.uint8).reshape(pixels.shape[0], -1)
    noise = RNG.integers(0, 256, (pixels.shape[0], padding), np.uint8)
    data = np.hstack([rows, noise])
    fields = {'height': pixels.shape[0], 'width': pixels.shape[1], 'encoding': kind,
              'is_bigendian': int(big_endian), 'step': data.shape[1], 'data': data.tobytes()}
    return SimpleNamespace(**{**fields, **changes})


EXPECTED = {
    'mono8': (GREY, GREY),
    '8UC1': (GREY, GREY),
    'bgr8': (BGR, BGR),
    '8UC3': (BGR, BGR),
    'rgb8': (BGR[..., ::-1], BGR),
    'bgra8': (np.dstack([BGR, GREY]), BGR),
    'rgba8': (np.dstack([BGR[..., ::-1], GREY]), BGR),
    'mono16': (GREY16, GREY16),
    '16UC1': (GREY16, GREY16),
    'rgb16': (BGR[..., ::-1].astype(np.uint16) * 257, BGR.astype(np.uint16) * 257),
}


@pytest.mark.parametrize('padding', [0, 5])
@pytest.mark.parametrize('encoding', EXPECTED)
def test_an_encoding_is_converted_correctly_with_and_without_padding(encoding, padding):
    pixels, expected = EXPECTED[encoding]
    np.testing.assert_array_equal(decode_image(message(pixels, encoding, padding)), expected)


@pytest.mark.parametrize('encoding', [name for name in ENCODINGS if name.startswith('bayer_')])
def test_a_bayer_pattern_gives_back_the_colour_that_it_was_made_from(encoding):
    blue, green, red = 20, 130, 240
    colours = {'b': blue, 'g': green, 'r': red}
    top_left, top_right, bottom_left, bottom_right = (colours[c] for c in encoding[6:10])
    tile = np.array([[top_left, top_right], [bottom_left, bottom_right]])
    depth = np.uint16 if encoding.endswith('16') else np.uint8
    decoded = decode_image(message(np.tile(tile, (4, 4)).astype(depth), encoding))
    assert decoded.dtype == depth
    np.testing.assert_array_equal(decoded[3, 3], (blue, green, red))


@pytest.mark.parametrize('encoding, order', [('yuv422', 'uyvy'), ('uyvy', 'uyvy'),
                                             ('yuv422_yuy2', 'yuyv'), ('yuyv', 'yuyv')])
def test_both_orders_of_yuv422_give_the_luminance_back(encoding, order):
    luminance = np.tile(np.arange(40, 200, 20, dtype=np.uint8), (HEIGHT, 1))
    neutral = np.full_like(luminance, 128)
    pair = (neutral, luminance) if order == 'uyvy' else (luminance, neutral)
    decoded = decode_image(message(np.dstack(pair), encoding))
    expected = (luminance.astype(float) - 16) * 255 / 219
    np.testing.assert_allclose(decoded, np.dstack([expected] * 3), atol=2)


def test_big_endian_pixels_are_swapped():
    decoded = decode_image(message(GREY16, 'mono16', padding=3, big_endian=True))
    np.testing.assert_array_equal(decoded, GREY16)
    assert decoded.dtype.isnative


def test_grey_and_bgr_are_views_of_the_message(monkeypatch):
    monkeypatch.setattr(images, 'cv_bridge_or_none', lambda: None)
    data = bytearray(GREY.tobytes())
    decoded = decode_image(message(GREY, 'mono8', data=data))
    data[0] ^= 0xFF
    assert decoded[0, 0] == data[0]


@pytest.mark.parametrize('changes, reason', [
    ({'encoding': 'vangogh8'}, "the encoding 'vangogh8' is not supported"),
    ({'encoding': '32FC1'}, 'not supported'),
    ({'encoding': 'x' * 5000}, 'not supported'),
    ({'step': 3}, 'step is 3 bytes, but a row of 8 mono8 pixels takes 8'),
    ({'data': b'123'}, 'shorter than the header says: 3 bytes instead of 6 rows x 8'),
    ({'data': bytes(1000)}, 'longer than the header says'),
    ({'data': b''}, 'shorter'),
    ({'width': 0, 'height': 0}, 'the image is empty'),
    ({'width': 0}, 'the image is empty'),
    ({'width': 2**31, 'height': 2**31, 'step': 2**31}, 'more than the limit of'),
    ({'step': 2**32 - 1}, 'shorter'),
])
def test_a_header_that_contradicts_the_data_is_refused_with_the_reason(changes, reason):
    with pytest.raises(InputError, match='.') as caught:
        decode_image(message(GREY, 'mono8', **changes))
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 200


def test_yuv422_of_odd_width_is_refused():
    with pytest.raises(InputError, match='even width'):
        decode_image(message(np.zeros((4, 3, 2), np.uint8), 'uyvy'))


def test_an_image_of_one_pixel_is_read():
    assert decode_image(message(GREY[:1, :1], 'mono8')).shape == (1, 1)


def test_the_limit_of_the_size_is_an_argument():
    decode_image(message(GREY, 'mono8'), max_pixels=48)
    with pytest.raises(InputError, match='more than the limit of 47'):
        decode_image(message(GREY, 'mono8'), max_pixels=47)


@pytest.mark.skipif(images.cv_bridge_or_none() is None, reason='needs cv_bridge')
@pytest.mark.parametrize('padding', [0, 5])
@pytest.mark.parametrize('encoding', EXPECTED)
def test_cv_bridge_and_the_conversion_of_this_package_agree(encoding, padding, monkeypatch):
    from sensor_msgs.msg import Image
    plain = message(EXPECTED[encoding][0], encoding, padding)
    sent = Image(**{**vars(plain), 'data': list(plain.data)})
    by_cv_bridge = decode_image(sent)
    monkeypatch.setattr(images, 'cv_bridge_or_none', lambda: None)
    np.testing.assert_array_equal(by_cv_bridge, decode_image(sent))


@pytest.mark.skipif(images.cv_bridge_or_none() is None, reason='needs cv_bridge')
@pytest.mark.parametrize('encoding', ['mono8', 'bgr8', 'rgba8', 'mono16'])
def test_cv_bridge_is_used_where_it_is_installed(encoding):
    from sensor_msgs.msg import Image
    plain = message(EXPECTED[encoding][0], encoding)
    sent = Image(**{**vars(plain), 'data': list(plain.data)})
    assert images.pixels_by_cv_bridge(sent, ENCODINGS[encoding]) is not None


def test_a_broken_cv_bridge_is_ignored(monkeypatch):
    class Broken:

        def imgmsg_to_cv2(self, *args, **kwargs):
            raise RuntimeError('compiled against another numpy')

    monkeypatch.setattr(images, 'cv_bridge_or_none', Broken)
    np.testing.assert_array_equal(decode_image(message(GREY, 'mono8')), GREY)


def compressed(image, extension='.png', cut=None, **changes):
    """Build a compressed image message, its data cut off after ``cut`` bytes."""
    data = cv2.imencode(extension, image)[1].tobytes()
    fields = {'format': extension[1:], 'data': data[:cut]}
    return SimpleNamespace(**{**fields, **changes})


@pytest.mark.parametrize('image', [GREY, BGR], ids=['grey', 'bgr'])
def test_png_is_read_exactly(image):
    np.testing.assert_array_equal(decode_compressed(compressed(image)), image)


def test_jpeg_is_read_approximately():
    smooth = cv2.GaussianBlur(RNG.integers(0, 256, (64, 64), np.uint8), (0, 0), 5)
    np.testing.assert_allclose(decode_compressed(compressed(smooth, '.jpg')), smooth, atol=12)


def test_the_format_field_may_be_wrong_if_the_data_is_right():
    sent = compressed(BGR, format='bgr8; jpeg compressed bgr8')
    np.testing.assert_array_equal(decode_compressed(sent), BGR)


def bomb():
    """Build a PNG of a few bytes that claims 60000 x 60000 pixels."""
    data = bytearray(cv2.imencode('.png', GREY)[1].tobytes())
    data[16:24] = (60000).to_bytes(4, 'big') * 2
    return bytes(data)


def jpeg_bomb():
    """Build a JPEG of a few bytes that claims 65535 x 65535 pixels."""
    data = bytearray(cv2.imencode('.jpg', GREY)[1].tobytes())
    start = data.index(b'\xff\xc0')
    data[start + 5:start + 9] = b'\xff\xff\xff\xff'
    return bytes(data)


@pytest.mark.parametrize('sent, reason', [
    (compressed(BGR, data=b''), 'empty'),
    (compressed(BGR, data=b'GIF89a....'), 'neither JPEG nor PNG (it begins with 47 49 46 38)'),
    (compressed(BGR, cut=20), 'ends within its header'),
    (compressed(BGR, cut=-20), 'truncated'),
    (compressed(np.tile(BGR, (40, 40, 1)), '.jpg', cut=3000), 'truncated'),
    (compressed(BGR, '.jpg', cut=100), 'ends within its header'),
    (compressed(BGR, data=bomb()), '60000 x 60000 pixels, more than the limit'),
    (compressed(BGR, data=jpeg_bomb()), '65535 x 65535 pixels, more than the limit'),
    (compressed(BGR, data=b'\xff\xd8\xff\xd9'), 'ends within its header'),
    (compressed(BGR, data=b'\xff\xd8\x00\x00\x00\x00'), 'damaged at byte 2'),
], ids=['empty', 'wrong format', 'header cut', 'png cut', 'jpeg cut', 'jpeg header cut',
        'png bomb', 'jpeg bomb', 'nothing in it', 'damaged'])
def test_compressed_data_that_cannot_be_used_is_refused_with_the_reason(sent, reason):
    with pytest.raises(InputError, match='.') as caught:
        decode_compressed(sent)
    assert reason in str(caught.value)


def png_with(kind, count):
    """Return a small PNG with chunks of a kind before its pixels."""
    data = compressed(BGR).data
    chunk = (0).to_bytes(4, 'big') + kind + crc32(kind).to_bytes(4, 'big')
    return bytes(data[:33]) + chunk * count + bytes(data[33:])


def moment():
    """Return a moment of a stream, for faults."""
    return Moment(rosbags_types(), np.tile(BGR, (40, 40, 1)), 10**9, 1, 'camera',
                  np.random.default_rng(0))


@pytest.mark.parametrize('data, reason', [
    (hidden_size(moment())[0].data, 'the marker 00 at byte 2, which is not allowed there'),
    (hidden_size(moment(), 64)[0].data, 'the marker 00 at byte 2, which is not allowed there'),
    (many_scans(moment())[0].data, 'scans, too many'),
    (b'\xff\xd8\xff\xd0' + bytes(compressed(BGR, '.jpg').data)[2:], 'the marker d0'),
    (b'\xff\xd8\xff\xe0\x00\x01' + bytes(compressed(BGR, '.jpg').data)[2:], 'the marker e0'),
    (endless_chunk(moment())[0].data, 'the chunk at byte 33 claims 2147483647 of'),
    (png_with(b'acTL', 1), 'an animation'), (png_with(b'zTXt', 17), 'compressed texts'),
], ids=['hidden size', 'hidden size that would be small', 'a thousand scans',
        'restart in the header', 'length below 2', 'endless chunk', 'animation', 'packed texts'])
def test_what_a_decoder_would_skip_repair_or_unpack_without_bound_is_refused(data, reason):
    with pytest.raises(InputError, match='.') as caught:
        decode_compressed(compressed(BGR, data=bytes(data)))
    assert reason in str(caught.value)


@pytest.mark.parametrize('flags', [
    [], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1], [cv2.IMWRITE_JPEG_OPTIMIZE, 1],
    [cv2.IMWRITE_JPEG_RST_INTERVAL, 2]], ids=['baseline', 'progressive', 'optimised', 'restarts'])
def test_every_usual_kind_of_jpeg_is_accepted(flags):
    picture = np.tile(BGR, (10, 10, 1))
    data = cv2.imencode('.jpg', picture, flags)[1].tobytes()
    assert decode_compressed(compressed(BGR, data=data)).shape == picture.shape


def test_a_png_with_a_broken_body_is_refused():
    data = bytearray(compressed(BGR).data)
    data[45:60] = bytes(15)
    try:
        decoded = decode_compressed(compressed(BGR, data=bytes(data)))
    except InputError as error:
        assert 'cannot be decoded' in str(error)
    else:
        assert decoded.shape == BGR.shape


@pytest.mark.parametrize('image, encoding', [(GREY, 'mono8'), (BGR, 'bgr8')])
def test_what_is_encoded_is_decoded_to_the_same(image, encoding):
    types = rosbags_types()
    sent = encode_image(types, header_of(types, 1, 'camera'), image)
    assert sent.encoding == encoding
    np.testing.assert_array_equal(decode_image(sent), image)


def test_a_compressed_overlay_can_be_read_again():
    types = rosbags_types()
    sent = encode_compressed(types, header_of(types, 1, 'camera'), np.tile(BGR, (10, 10, 1)))
    assert decode_compressed(sent).shape == (60, 80, 3)
