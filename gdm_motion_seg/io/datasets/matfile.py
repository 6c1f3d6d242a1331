# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""MATLAB files read so that a bad one is a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from gdm_motion_seg.errors import InputError


def read_mat(path: Path, **options: Any) -> dict[str, Any]:
    """Read a .mat file; whatever is wrong with it becomes an InputError that names it."""
    try:
        return loadmat(path, **options)
    except FileNotFoundError:
        raise InputError(f'there is no file {path}') from None
    except Exception as error:  # scipy raises a dozen types on damaged files, TypeError included
        raise InputError(f'{path} cannot be read as a MATLAB file: {_one_line(error)}') from None


def field(path: Path, contents: Any, name: str) -> np.ndarray:
    """Return one field of a file or of a struct in it as an array."""
    value = contents.get(name) if isinstance(contents, dict) else getattr(contents, name, None)
    if value is None:
        raise InputError(f'{path} has no field {name!r}')
    return np.asarray(value)


def number(path: Path, contents: Any, name: str) -> int:
    """Return one whole number of a file."""
    value = field(path, contents, name)
    if value.size != 1 or not np.issubdtype(value.dtype, np.number):
        raise InputError(f'{path} must hold one number in {name!r}, got the shape {value.shape}')
    return int(value.item())


def _one_line(error: Exception) -> str:
    return ' '.join(str(error).split()) or type(error).__name__
