# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads single images and folders of images."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
import re

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.decoding import decode_file
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.frames import (DEFAULT_FPS, first_index, Frame, FrameSource,
                                      indexed_frame, START_STAMP)

IMAGE_SUFFIXES = frozenset({'.png', '.jpg', '.jpeg', '.bmp', '.tif', '.tiff', '.pgm', '.ppm',
                            '.webp'})
"""File extensions of images in a folder; other files are ignored."""


def read_image(path: Path) -> npt.NDArray[np.generic]:
    """Read an image as grey or BGR; raises InputError if that is not possible."""
    if not path.is_file():
        raise InputError(f'{path} is not a file' if path.exists() else f'{path} does not exist')
    return decode_file(path, cv2.IMREAD_ANYDEPTH | cv2.IMREAD_ANYCOLOR)


def write_image(path: Path, image: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]) -> None:
    """Write an image in the format of the file extension; raises InputError for unknown ones."""
    try:
        good, data = cv2.imencode(path.suffix, image)
    except cv2.error:
        good = False
    if not good:
        raise InputError(f'{path.name} cannot be written: no image format ends in {path.suffix!r}')
    # Not imwrite: a full disk then raises an OSError with the reason.
    path.write_bytes(data.tobytes())


def image_files(folder: Path) -> list[Path]:
    """Return the images of a folder in natural order (frame2 before frame10)."""
    files = [f for f in folder.iterdir() if f.suffix.lower() in IMAGE_SUFFIXES and f.is_file()]
    return sorted(files, key=lambda f: [(int(part), '') if part.isdigit() else (-1, part)
                                        for part in re.split(r'(\d+)', f.name)])


class FolderSource(FrameSource):
    """Yields the images of a folder in the order of their names."""

    zero_stamp = START_STAMP

    def __init__(self, path: Path, fps: float = DEFAULT_FPS) -> None:
        """List the folder."""
        self._files = image_files(path)
        if not self._files:
            raise InputError(f'{path} contains no images (and no metadata.yaml of a bag)')
        super().__init__(path, len(self._files), fps)

    def _frames(self) -> Iterator[tuple[str, Frame]]:
        for i in range(first_index(self._start, self.fps), len(self._files)):
            if i / self.fps >= self._stop:
                break
            file = self._files[i]
            yield file.name, replace(indexed_frame(read_image(file), i, self.fps), name=file.name)
