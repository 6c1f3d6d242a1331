# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads cameras that are connected to this machine, by number."""

from collections.abc import Iterator
from pathlib import Path
import time

import cv2

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.frames import DEFAULT_FPS, Frame, FrameSource
from gdm_motion_seg.io.videos import quiet_opencv


class CameraSource(FrameSource):
    """Yields the frames of a camera as they arrive, with stamps of this machine's clock."""

    live = True

    def __init__(self, number: int, fps: float | None = None) -> None:
        """Open the camera; ``fps`` requests a frame rate."""
        with quiet_opencv():
            self._capture = cv2.VideoCapture(number)
        if not self._capture.isOpened():
            there = ', '.join(sorted(str(p) for p in Path('/dev').glob('video*'))) or 'none'
            raise InputError(f'there is no camera {number} that can be opened '
                             f'(video devices of this machine: {there})')
        if fps is not None:
            self._capture.set(cv2.CAP_PROP_FPS, fps)
        # At most one frame waits, so that the newest is shown. Not every driver supports it.
        self._capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        declared = self._capture.get(cv2.CAP_PROP_FPS)
        super().__init__(Path(f'camera_{number}'), None,
                         declared if 0.1 <= declared <= 1000 else fps or DEFAULT_FPS)
        self._number = number

    def close(self) -> None:
        """Release the camera."""
        self._capture.release()

    def _frames(self) -> Iterator[tuple[str, Frame]]:
        index, start = 0, time.time_ns()
        while True:
            with quiet_opencv():
                good, image = self._capture.read()
            if not good:
                raise InputError(f'camera {self._number} stopped after {index} images')
            now = time.time_ns()
            yield f'image {index}', Frame(image, now, at=(now - start) / 1e9)
            index += 1
