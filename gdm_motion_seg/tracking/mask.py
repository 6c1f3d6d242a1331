# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The mask of what belongs to the robot itself."""

from pathlib import Path

import cv2

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.tracking.image import GreyImage


def load_mask(path: str) -> GreyImage | None:
    """Read a mask image, zero where nothing may be tracked; None for an empty path."""
    if not path:
        return None
    if not Path(path).is_file():
        raise InputError(f'mask_path must be an image file, but there is no file {path!r}')
    mask = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    if mask is None:
        raise InputError(f'mask_path must be an image file, but {path!r} cannot be read as one')
    if not mask.any():
        raise InputError(f'mask_path is black all over, so nothing could be tracked: {path!r}')
    return mask
