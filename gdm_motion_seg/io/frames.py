# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Frames and the base class of their sources."""

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
"""Stamp of the first frame of a source without a clock; 0 would mean 'no time' in ROS."""
DEFAULT_FPS = 30.0
"""Frames per second of a source without a rate."""


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
    """Name of the image file; empty if the image is not from a file of its own."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.shape[1], self.image.shape[0]


class FrameSource(ABC):
    """
    A sequence of frames of one size that can be iterated once.

    Use it in a ``with`` block. Opening and iterating raise InputError if something is wrong.
    """

    live = False
    """Whether the source is a live stream, whose frames are lost if nobody reads them."""
    zero_stamp = 0
    """Stamp that is written as time 0 in tables; START_STAMP for a source without a clock."""

    def __init__(self, path: Path, count: int | None, fps: float) -> None:
        """Set the path and the number of frames; ``count`` is None if it is unknown."""
        self.path, self.count, self.fps = path, count, fps
        self.skipped = 0
        """Number of frames that could not be decoded and were skipped."""
        self._start, self._stop = 0.0, math.inf

    @property
    def seconds(self) -> float | None:
        """Duration of the source in seconds; None if it is unknown."""
        return None if self.count is None else self.count / self.fps

    def select(self, start: float, stop: float = math.inf) -> None:
        """Restrict the frames to ``start <= frame.at < stop``; there may be none."""
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
        """Release the resources of the source."""

    def camera_of(self, frame: Frame) -> Camera | None:
        """Return the calibration of a frame; None if there is none."""
        return None

    @abstractmethod
    def _frames(self) -> Iterator[tuple[str, Frame]]:
        """Yield each frame with a name for error messages."""

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames; raises InputError if the size changes or if there is no frame."""
        first: tuple[int, int] | None = None
        for name, frame in self._some_frames():
            size = frame.size
            first = first or size
            if size != first:
                raise InputError(f'{self.path} mixes sizes: {name} has {size[0]} x {size[1]} '
                                 f'pixels, the frames before it {first[0]} x {first[1]}')
            yield frame

    def frames(self) -> Iterator[Frame]:
        """Yield the frames, whose sizes may differ; raises InputError if there is no frame."""
        for _, frame in self._some_frames():
            yield frame

    def _some_frames(self) -> Iterator[tuple[str, Frame]]:
        any_frame = False
        for item in self._frames():
            any_frame = True
            yield item
        if not any_frame and not self._is_partial:
            raise InputError(f'{self.path} contains no image that can be read')


def indexed_frame(image: npt.NDArray[np.generic], index: int, fps: float) -> Frame:
    """Return a frame of a source that has a rate but no stamps."""
    return Frame(image, stamp_of_index(index, fps), at=index / fps)


def first_index(start: float, fps: float) -> int:
    """Return the index of the first frame at or after a time."""
    index = max(0, math.ceil(start * fps) - 1)
    return index if index / fps >= start else index + 1


def stamp_of_index(index: int, fps: float) -> int:
    """Return the time of a frame of a source that has a rate but no stamps."""
    return START_STAMP + round(index * 1e9 / fps)
