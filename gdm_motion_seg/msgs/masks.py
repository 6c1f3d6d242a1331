# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/mask`` and ``~/instances``: images of what moves."""

import sys
from typing import Any

import numpy as np

from gdm_motion_seg.masks import motion_mask
from gdm_motion_seg.masks.kernels import IdImage
from gdm_motion_seg.msgs.images import encode_image


def mask_image(types: Any, header: Any, instances: IdImage, dilation: int = 0,
               moving_is_white: bool = True) -> Any:
    """Build the sensor_msgs/Image (mono8) of ``~/mask``."""
    return encode_image(types, header, motion_mask(instances, dilation, moving_is_white))


def instances_image(types: Any, header: Any, instances: IdImage) -> Any:
    """Build the sensor_msgs/Image (32SC1) of ``~/instances``: ids of bodies, 0 the world."""
    pixels = np.ascontiguousarray(instances, np.int32)
    height, width = pixels.shape
    return types.Image(
        header=header, height=height, width=width, encoding='32SC1',
        is_bigendian=int(sys.byteorder == 'big'), step=4 * width,
        data=types.octets(pixels.view(np.uint8).reshape(-1)))
