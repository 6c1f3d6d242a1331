# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Images with times, wherever they come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
import math
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera

START_STAMP = 1_000_000_000
"""Stamp of the first frame where a source has no clock: not 0, which ROS takes for 'no time'."""
DEFAULT_FPS = 30.0
"""Frames per second where a source does not say."""


@dataclass(frozen=True)
class Frame:
    """One image of a source."""

    image: npt.NDArray[np.generic]
    """Grey or BGR, 8 or 16 bits."""
    stamp: int
    """Time in nanoseconds."""
    frame_id: str = 'camera'
    """Name of the camera's coordinate frame."""
    at: float = 0.0
    """Seconds since the recording began, by the clock of the source."""
    name: str = ''
    """Name of the image's file; empty where it has none of its own."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.shape[1], self.image.shape[0]


class FrameSource(ABC):
    """
    A sequence of frames of one size that can be run through once.

    Use it in a ``with`` block. What is wrong is said in an InputError, at once or on the way.
    """

    live = False
    """Whether frames come at a pace of their own, without end, and are lost if nobody waits."""
    zero_stamp = 0
    """Stamp that counts as the time 0 in tables; START_STAMP where a source has no clock."""

    def __init__(self, path: Path, count: int | None, fps: float) -> None:
        """Name the source; ``count`` is None if nobody knows before the end."""
        self.path, self.count, self.fps = path, count, fps
        self.skipped = 0
        """Frames that could not be decoded and were left out."""
        self._start, self._stop = 0.0, math.inf

    @property
    def seconds(self) -> float | None:
        """Duration of the whole source; None if nobody knows before the end."""
        return None if self.count is None else self.count / self.fps

    def select(self, start: float, stop: float = math.inf) -> None:
        """Yield only frames with ``start <= frame.at < stop``; there may be none of them."""
        self._start, self._stop = start, stop

    @property
    def _is_partial(self) -> bool:
        return self._start > 0.0 or self._stop < math.inf

    def __enter__(self) -> 'FrameSource':
        """Return the source itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Close the source."""
        self.close()

    def close(self) -> None:
        """Give back what the source holds."""

    def camera_of(self, frame: Frame) -> Camera | None:
        """Return the calibration that belongs to a frame; None where there is none."""
        return None

    @abstractmethod
    def _frames(self) -> Iterator[tuple[str, Frame]]:
        """Yield each frame with a name for it that a person understands."""

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames; raises InputError where the size changes or where there is none."""
        first: tuple[int, int] | None = None
        for name, frame in self._some_frames():
            size = frame.size
            first = first or size
            if size != first:
                raise InputError(f'{self.path} mixes sizes: {name} has {size[0]} x {size[1]} '
                                 f'pixels, the frames before it {first[0]} x {first[1]}')
            yield frame

    def frames(self) -> Iterator[Frame]:
        """Yield the frames, of whatever sizes they are; raises InputError if there is none."""
        for _, frame in self._some_frames():
            yield frame

    def _some_frames(self) -> Iterator[tuple[str, Frame]]:
        any_frame = False
        for item in self._frames():
            any_frame = True
            yield item
        if not any_frame and not self._is_partial:
            raise InputError(f'{self.path} holds no image that can be read')


def indexed_frame(image: npt.NDArray[np.generic], index: int, fps: float) -> Frame:
    """Return a frame of a source that has only a rate."""
    return Frame(image, stamp_of_index(index, fps), at=index / fps)


def first_index(start: float, fps: float) -> int:
    """Return the index of the first frame at or after a time."""
    index = max(0, math.ceil(start * fps) - 1)
    return index if index / fps >= start else index + 1


def stamp_of_index(index: int, fps: float) -> int:
    """Return the time of a frame of a source that has only a rate."""
    return START_STAMP + round(index * 1e9 / fps)
