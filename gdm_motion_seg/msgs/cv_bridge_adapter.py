# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The one place that knows cv_bridge.

A robot has it with ROS, a machine with pip alone has not (the package of that name there is ROS
1's and is never asked for). It is used for what it converts rightly; everything else goes through
our own conversion, with the same result.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt


@lru_cache(maxsize=1)
def _bridge() -> Any:
    """Return a CvBridge, or None where ROS 2's cv_bridge is not installed or does not work."""
    try:
        import cv_bridge
        return cv_bridge.CvBridge()
    except Exception:  # a broken installation raises anything; our own conversion does not need it
        return None


def available() -> bool:
    """Whether cv_bridge is installed and can be used."""
    return _bridge() is not None


def can_convert(message: Any, dtype: type, channels: int) -> bool:
    """Whether cv_bridge is installed and reads this message rightly."""
    # It skews images whose rows are not a whole number of pixels, and fails on big-endian ones.
    pixel = np.dtype(dtype).itemsize * channels
    return not message.is_bigendian and message.step % pixel == 0 and available()


def pixels(message: Any) -> npt.NDArray[Any]:
    """Return the pixels in the encoding of the message."""
    return np.asarray(_bridge().imgmsg_to_cv2(message, desired_encoding='passthrough'))
