# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Video files, in and out, through OpenCV."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.frames import (DEFAULT_FPS, first_index, Frame, FrameSource,
                                      indexed_frame)

CODEC = 'mp4v'
"""MPEG-4 part 2: the one codec in mp4 that every build of OpenCV can write."""


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """Keep OpenCV's own log off the screen; the caller says in a sentence what went wrong."""
    logging = getattr(cv2.utils, 'logging', None)
    if logging is None:
        yield
        return
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(level)


class VideoSource(FrameSource):
    """The frames of a video file."""

    def __init__(self, path: Path, fps: float | None = None) -> None:
        """Open the file; ``fps`` overrides the rate that it declares."""
        with quiet_opencv():
            self._capture = cv2.VideoCapture(str(path))
        if not self._capture.isOpened():
            raise InputError(f'{path} cannot be decoded as a video')
        declared = self._capture.get(cv2.CAP_PROP_FPS)
        count = self._capture.get(cv2.CAP_PROP_FRAME_COUNT)
        super().__init__(path, int(count) if 0 < count < 1e9 else None,
                         fps or (declared if 0.1 <= declared <= 1000 else DEFAULT_FPS))

    def close(self) -> None:
        """Close the file."""
        self._capture.release()

    def _frames(self) -> Iterator[tuple[str, Frame]]:
        index = self._go_to(first_index(self._start, self.fps))
        any_good = False
        while index / self.fps < self._stop:
            with quiet_opencv():
                good, image = self._capture.read()
            if not good:
                break
            any_good = True
            yield f'frame {index}', indexed_frame(image, index, self.fps)
            index += 1
        if not any_good and not self._is_partial:
            raise InputError(f'{self.path} is a video of which no frame can be decoded')

    def _go_to(self, index: int) -> int:
        """Skip to a frame: by a seek if it arrives, else by decoding what lies before it."""
        if index == 0:
            return 0
        with quiet_opencv():
            if (self._capture.set(cv2.CAP_PROP_POS_FRAMES, index)
                    and round(self._capture.get(cv2.CAP_PROP_POS_FRAMES)) == index):
                return index
            self._capture.release()
            self._capture.open(str(self.path))
            for _ in range(index):
                if not self._capture.grab():
                    break
        return index


class VideoWriter:
    """Writes an mp4; opened by the first frame, which gives the size."""

    def __init__(self, path: Path, fps: float) -> None:
        """Prepare the writer."""
        self.path = path
        self._fps = fps
        self._writer: cv2.VideoWriter | None = None
        self._written = 0

    def write(self, image: npt.NDArray[np.uint8]) -> None:
        """Append a BGR frame."""
        if self._writer is None:
            height, width = image.shape[:2]
            with quiet_opencv():
                self._writer = cv2.VideoWriter(str(self.path), cv2.VideoWriter.fourcc(*CODEC),
                                               self._fps, (width, height))
            if not self._writer.isOpened():
                raise InputError(f'{self.path} cannot be written as a video')
        self._writer.write(image)
        self._written += 1

    def close(self) -> None:
        """Finish the file, and look whether it is whole: OpenCV keeps silent about a full disk."""
        if self._writer is None:
            return
        self._writer.release()
        self._writer = None
        with quiet_opencv():
            capture = cv2.VideoCapture(str(self.path))
            whole = capture.isOpened() and capture.get(cv2.CAP_PROP_FRAME_COUNT) >= self._written
            capture.release()
        if not whole:
            raise InputError(f'{self.path} was not written completely (is the disk full?)')
