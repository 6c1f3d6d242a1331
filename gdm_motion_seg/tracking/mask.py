# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The mask of the parts of the robot itself."""

from pathlib import Path

import cv2

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.tracking.image import GreyImage

MAX_PIXELS = 40_000_000
"""Largest mask in pixels: the default limit of images."""

_kept: dict[str, GreyImage] = {}


def load_mask(path: str) -> GreyImage | None:
    """Return the mask of a path, zero where nothing may be tracked; None for an empty path."""
    if not path:
        return None
    kept = _kept.get(path)
    return read_mask(path) if kept is None else kept


def read_mask(path: str) -> GreyImage:
    """Read a mask image; raises InputError if it cannot be used."""
    from gdm_motion_seg.decoding import decode_file  # most robots have no mask
    try:
        if not Path(path).is_file():
            raise InputError(f'there is no file {path[:200]!r}')
        mask = decode_file(Path(path), cv2.IMREAD_GRAYSCALE, MAX_PIXELS)
    except (OSError, ValueError, InputError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InputError(f'mask_path must be an image file, but {reason}') from None
    if not mask.any():
        raise InputError(f'mask_path is completely black, so nothing could be tracked: {path!r}')
    return mask


def keep_mask(path: str, mask: GreyImage | None) -> None:
    """
    Let :func:`load_mask` return this mask for a path from now on.

    The file of an accepted mask is not read again: it may have been changed or removed.
    """
    _kept.clear()
    if path and mask is not None:
        _kept[path] = mask
