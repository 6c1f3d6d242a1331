# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.tracking.image import GreyConverter


@pytest.fixture
def ramp():
    """Make an image with every grey value."""
    return np.tile(np.arange(256, dtype=np.uint8), (32, 1))


@pytest.mark.parametrize('shape', [(32, 256), (32, 256, 1), (32, 256, 3), (32, 256, 4)])
def test_grey_and_colour_images_become_grey(ramp, shape):
    image = np.broadcast_to(ramp.reshape(32, 256, *(1,) * (len(shape) - 2)), shape)
    np.testing.assert_array_equal(GreyConverter(10**6).convert(np.ascontiguousarray(image)), ramp)


def test_the_grey_image_is_a_copy(ramp):
    grey = GreyConverter(10**6).convert(ramp)
    ramp[:] = 0
    assert grey.max() == 255


def test_12_bit_images_use_the_whole_range_of_8_bits(ramp):
    grey = GreyConverter(10**6).convert(ramp.astype(np.uint16) * 16)
    assert grey.dtype == np.uint8 and np.ptp(grey) > 150
    assert (np.diff(grey[0].astype(int)) >= 0).all()


def test_the_scale_of_16_bit_images_does_not_change_with_each_image(ramp):
    converter = GreyConverter(10**6)
    first = converter.convert(ramp.astype(np.uint16) * 16)
    part = converter.convert(np.clip(ramp, 60, 200).astype(np.uint16) * 16)
    np.testing.assert_array_equal(part[:, 60:200], first[:, 60:200])


def test_a_16_bit_stream_that_becomes_much_brighter_is_scaled_again(ramp):
    converter = GreyConverter(10**6)
    converter.convert(ramp.astype(np.uint16))
    bright = converter.convert(ramp.astype(np.uint16) * 250)
    assert np.ptp(bright[:, 10:-10]) > 100


def test_a_constant_16_bit_image_does_not_divide_by_zero():
    grey = GreyConverter(10**6).convert(np.full((32, 32), 7, np.uint16))
    assert grey.shape == (32, 32)


@pytest.mark.parametrize('image, message', [
    (np.zeros((0, 0), np.uint8), 'at least 16 x 16'),
    (np.zeros((1, 1, 3), np.uint8), 'got 1 x 1'),
    (np.zeros((64, 64, 2), np.uint8), 'shape'),
    (np.zeros((4, 64, 64, 3), np.uint8), 'shape'),
    (np.zeros((64, 64), np.float32), 'uint8 or uint16, got float32'),
    (np.zeros((200, 200), np.uint8), 'at most 30000 pixels'),
    ('a string', 'image must be an array'),
], ids=['0x0', '1x1', '2 channels', '4 axes', 'float', 'too large', 'no array'])
def test_an_array_that_is_not_an_image_is_refused_with_one_sentence(image, message):
    with pytest.raises(InputError, match=message):
        GreyConverter(30_000).convert(image)
