# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Adapter of cv_bridge, the only module that imports it.

cv_bridge is a part of ROS 2 and is not on PyPI (the package of that name there is for ROS 1). It
is used for the images that it converts correctly. All others are converted by this package, with
the same result.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt


@lru_cache(maxsize=1)
def _bridge() -> Any:
    """Return a CvBridge; None if cv_bridge of ROS 2 is not installed or does not work."""
    try:
        import cv_bridge
        return cv_bridge.CvBridge()
    except Exception:  # a broken installation may raise any exception; cv_bridge is optional
        return None


def available() -> bool:
    """Whether cv_bridge is installed and can be used."""
    return _bridge() is not None


def pixels(message: Any, dtype: type, channels: int) -> npt.NDArray[Any] | None:
    """Return the pixels in the encoding of the message; None if cv_bridge cannot convert them."""
    # It skews images whose step is not a multiple of the pixel size, and fails on big-endian ones.
    whole = message.step % (np.dtype(dtype).itemsize * channels) == 0
    if message.is_bigendian or not whole or not available():
        return None
    try:
        found = np.asarray(_bridge().imgmsg_to_cv2(message, desired_encoding='passthrough'))
    except Exception:  # as above; the message itself was checked
        return None
    shape = (message.height, message.width, channels)[:2 if channels == 1 else 3]
    return found if found.shape == shape and found.dtype == dtype else None
