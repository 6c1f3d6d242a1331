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


def pixels(message: Any, dtype: type, channels: int) -> npt.NDArray[Any] | None:
    """Return the pixels in the encoding of the message; None where that is not for cv_bridge."""
    # It skews images whose rows are not a whole number of pixels, and fails on big-endian ones.
    whole = message.step % (np.dtype(dtype).itemsize * channels) == 0
    if message.is_bigendian or not whole or not available():
        return None
    try:
        found = np.asarray(_bridge().imgmsg_to_cv2(message, desired_encoding='passthrough'))
    except Exception:  # as above; the message has been checked, so that it is not to blame
        return None
    shape = (message.height, message.width, channels)[:2 if channels == 1 else 3]
    return found if found.shape == shape and found.dtype == dtype else None
