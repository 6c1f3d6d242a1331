# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Paths of the files of ``config/`` and ``launch/``, installed or in a source checkout."""

from collections.abc import Iterator
import os
from pathlib import Path
import sys

from gdm_motion_seg.errors import InputError

_PACKAGE = 'gdm_motion_seg'


def resource(folder: str, name: str) -> Path:
    """Return the path of a file of the package, for instance ``config``, ``fastdds.xml``."""
    places = list(_places())
    for place in places:
        path = place / folder / name
        if path.is_file():
            return path
    raise InputError(f'{folder}/{name} is not installed (looked in {", ".join(map(str, places))})')


def _places() -> Iterator[Path]:
    # The checkout comes first, so that edited files are used.
    yield Path(__file__).resolve().parent.parent
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        yield Path(prefix) / 'share' / _PACKAGE
    yield Path(sys.prefix) / 'share' / _PACKAGE
