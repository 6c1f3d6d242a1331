# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The mask of the parts of the robot itself; loaded only where a mask is set."""

from pathlib import Path

import cv2

from gdm_motion_seg.decoding import decode_file
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.tracking.image import GreyImage

MAX_MASK_PIXELS = 40_000_000
"""Largest mask in pixels: the default limit of images."""

_open: dict[str, GreyImage | InputError] = {}


def open_mask(path: str) -> None:
    """
    Read a mask file, unless it is open: :func:`load_mask` then gives this mask, or this error.

    The file of an accepted mask is not read again: it may have been changed or removed.
    """
    if path not in _open:
        try:
            _open[path] = read_mask(path)
        except InputError as error:
            _open[path] = error


def keep_masks(paths: set[str]) -> None:
    """Close all masks but these, and those that could not be read."""
    for path, mask in list(_open.items()):
        if path not in paths or isinstance(mask, InputError):
            del _open[path]


def load_mask(path: str) -> GreyImage:
    """Return the mask of a path, zero where nothing may be tracked; raises InputError."""
    mask = _open.get(path)
    if isinstance(mask, InputError):
        raise mask
    return read_mask(path) if mask is None else mask


def check_mask(path: str, current: str = '') -> None:
    """Raise InputError if a mask cannot be used; only this one and the current one stay open."""
    open_mask(path)
    try:
        load_mask(path)
    finally:
        keep_masks({path, current})


def read_mask(path: str) -> GreyImage:
    """Read a mask image; raises InputError if it cannot be used."""
    try:
        if not Path(path).is_file():
            raise InputError(f'there is no file {path[:200]!r}')
        mask = decode_file(Path(path), cv2.IMREAD_GRAYSCALE, MAX_MASK_PIXELS)
    except (OSError, ValueError, InputError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InputError(f'mask_path must be an image file, but {reason}') from None
    if not mask.any():
        raise InputError(f'mask_path is completely black, so nothing could be tracked: {path!r}')
    return mask
