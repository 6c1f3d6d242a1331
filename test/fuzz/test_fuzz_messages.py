# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages of any content give an array or an InputError."""

from types import SimpleNamespace

import cv2
from fuzzing import edited, EDITS, fuzz
from hypothesis import given, strategies as st
import numpy as np

from gdm_motion_seg.io.bags import CAMERA_INFO, COMPRESSED, IMAGE, typestore
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import (
    check_fits, decode_camera_info, decode_compressed, decode_image, encode_compressed,
    encode_image, ENCODINGS)
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.synth.scene_bags import camera_info

MAX_PIXELS = 100_000
PICTURE = np.random.default_rng(0).integers(0, 255, (12, 16, 3), np.uint8)
FILES = [cv2.imencode(suffix, picture)[1].tobytes()
         for suffix in ('.png', '.jpg', '.bmp', '.tif', '.webp')
         for picture in (PICTURE, PICTURE[..., 0])]
FILES += [cv2.imencode('.jpg', PICTURE, [flag, value])[1].tobytes()
          for flag, value in ((cv2.IMWRITE_JPEG_PROGRESSIVE, 1), (cv2.IMWRITE_JPEG_OPTIMIZE, 1),
                              (cv2.IMWRITE_JPEG_RST_INTERVAL, 1))]
UINT32 = st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1))
ENCODING = st.one_of(st.sampled_from([*ENCODINGS]), st.text(max_size=60))
TYPES = rosbags_types()
HEADER = header_of(TYPES, 10**9, 'camera')


def decoded_is_an_image(image):
    """Check a decoded image."""
    if image is not None:
        assert image.dtype in (np.uint8, np.uint16)
        assert image.ndim == 2 or image.shape[2] == 3
        assert 0 < image.shape[0] * image.shape[1] <= MAX_PIXELS


@fuzz(12)
@given(width=UINT32, height=UINT32, step=UINT32, encoding=ENCODING, big=st.integers(0, 255),
       data=st.binary(max_size=600))
def test_an_image_of_any_header(trial, width, height, step, encoding, big, data):
    message = SimpleNamespace(width=width, height=height, step=step, encoding=encoding,
                              is_bigendian=big, data=data)
    decoded_is_an_image(trial(decode_image, message, MAX_PIXELS))


@fuzz(12)
@given(width=st.integers(1, 20), height=st.integers(1, 20), encoding=st.sampled_from([*ENCODINGS]),
       big=st.booleans(), padding=st.integers(0, 9), change=st.sampled_from((0, 0, 0, -1, 1)))
def test_an_image_whose_header_nearly_fits(trial, width, height, encoding, big, padding, change):
    kind = ENCODINGS[encoding]
    step = width * kind.channels * np.dtype(kind.dtype).itemsize + padding
    data = np.random.default_rng(width).bytes(height * step + change)
    message = SimpleNamespace(width=width, height=height, step=step, encoding=encoding,
                              is_bigendian=big, data=data)
    decoded_is_an_image(trial(decode_image, message, MAX_PIXELS))


@fuzz(16)
@given(file=st.sampled_from(FILES), edits=EDITS, kind=st.text(max_size=60))
def test_a_compressed_image_that_was_damaged(trial, file, edits, kind):
    message = SimpleNamespace(data=edited(file, edits), format=kind)
    decoded_is_an_image(trial(decode_compressed, message, MAX_PIXELS))


@fuzz(8)
@given(start=st.sampled_from((b'', b'\xff\xd8', b'\xff\xd8\xff\xc0', b'\x89PNG\r\n\x1a\n',
                              b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR')), data=st.binary(max_size=200),
       end=st.sampled_from((b'', b'\xff\xd9', b'IEND\xaeB`\x82')))
def test_a_compressed_image_of_any_bytes(trial, start, data, end):
    message = SimpleNamespace(data=start + data + end, format='jpeg')
    decoded_is_an_image(trial(decode_compressed, message, MAX_PIXELS))


NUMBER = st.one_of(st.floats(width=64), st.sampled_from((0.0, 1.0, 300.0, 1e-300, 1e300)))


@fuzz(8)
@given(k=st.lists(NUMBER, max_size=10), d=st.lists(NUMBER, max_size=14),
       model=st.one_of(st.sampled_from(('plumb_bob', 'rational_polynomial', 'equidistant', '')),
                       st.text(max_size=50)), width=UINT32, height=UINT32)
def test_a_camera_info_of_any_numbers(trial, k, d, model, width, height):
    camera_is_usable(trial, k, d, model, width, height)


@fuzz(8)
@given(focal=st.lists(st.floats(1e-3, 1e5), min_size=2, max_size=2),
       centre=st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=2),
       d=st.lists(st.floats(-100, 100), min_size=8, max_size=8),
       model=st.sampled_from((('plumb_bob', 5), ('rational_polynomial', 8), ('equidistant', 4))))
def test_a_camera_info_that_could_be_one(trial, focal, centre, d, model):
    k = [focal[0], 0.0, centre[0], 0.0, focal[1], centre[1], 0.0, 0.0, 1.0]
    camera_is_usable(trial, k, d[:model[1]], model[0], 640, 480)


def camera_is_usable(trial, k, d, model, width, height):
    """Check that an accepted camera can be used for any pixel of its image."""
    message = SimpleNamespace(k=k, d=d, distortion_model=model, width=width, height=height)
    camera = trial(decode_camera_info, message)
    if camera is not None:
        points = np.array([[0.0, 0.0], [width - 1.0, height - 1.0], [width / 3, height / 2]])
        with np.errstate(all='ignore'):
            assert camera.rays(points).shape == (3, 3)
            assert camera.undistort(points).shape == (3, 2)
        trial(check_fits, camera, model, (640, 480), 'camera')


FIELD = st.builds(SimpleNamespace, name=st.text(max_size=5), offset=st.integers(0, 50),
                  datatype=st.integers(0, 12), count=st.integers(0, 5))


@fuzz(6)
@given(fields=st.lists(FIELD, max_size=5), width=UINT32, height=UINT32, big=st.booleans(),
       point_step=st.integers(0, 60), data=st.binary(max_size=300))
def test_a_cloud_of_any_fields(trial, fields, width, height, big, point_step, data):
    trial(rows_from_cloud, SimpleNamespace(
        fields=fields, width=width, height=height, is_bigendian=big, point_step=point_step,
        data=data))


SERIALISED = [(kind, decode, bytes(typestore().serialize_cdr(message, kind)))
              for kind, decode, message in (
    (IMAGE, decode_image, encode_image(TYPES, HEADER, PICTURE[:4, :4])),
    (COMPRESSED, decode_compressed, encode_compressed(TYPES, HEADER, PICTURE[:4, :4])),
    (CAMERA_INFO, decode_camera_info, camera_info(TYPES, HEADER, np.diag([9., 9., 1.]), (4, 4))))]


@fuzz(6)
@given(which=st.sampled_from(SERIALISED), edits=EDITS)
def test_a_serialised_message_that_was_damaged(trial, which, edits):
    kind, decode, data = which
    try:
        message = typestore().deserialize_cdr(edited(data, edits), kind)
    except Exception:  # that this is no message is for the middleware to say; the next test but
        return         # one reads such messages from a bag
    trial(decode, message)
