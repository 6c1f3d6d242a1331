# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads video files with OpenCV, and writes them with PyAV if it is installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
import os
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.frames import (DEFAULT_FPS, first_index, Frame, FrameSource,
                                      indexed_frame, START_STAMP)

H264 = 'libx264'
H264_OPTIONS = {'preset': 'superfast', 'crf': '23', 'g': '30'}
"""Fast encoding, and every 30th frame a key frame, so that players can seek quickly."""

FFMPEG_QUIET = '-8'
"""AV_LOG_QUIET; OpenCV reads the level when the first video is opened."""


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """Suppress the logs of OpenCV and of its FFmpeg; the caller reports the error."""
    os.environ.setdefault('OPENCV_FFMPEG_LOGLEVEL', FFMPEG_QUIET)
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
    """Yields the frames of a video file."""

    zero_stamp = START_STAMP

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
            raise InputError(f'no frame of the video {self.path} can be decoded')

    def _go_to(self, index: int) -> int:
        """Go to a frame by seeking, or by decoding all frames before it if seeking fails."""
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
    """
    Writes an mp4 file; the first frame gives the size.

    With PyAV the codec is H.264, which browsers play. Without PyAV it is MPEG-4 part 2, which
    every build of OpenCV can write and players such as VLC can play.
    """

    def __init__(self, path: Path, fps: float) -> None:
        """Prepare the writer."""
        self.path = path
        self._fps = fps
        self._encoder: _H264 | _Mpeg4 | None = None
        self._size: tuple[int, int] | None = None
        self._written = 0

    def write(self, image: npt.NDArray[np.uint8]) -> None:
        """Append a BGR frame; a frame of another size is fitted to the size of the first."""
        height, width = image.shape[:2]
        if self._encoder is None or self._size is None:
            # Chroma is stored at half the size, so both sides must be even.
            self._size = width + width % 2, height + height % 2
            kind = _H264 if plays_in_browsers() else _Mpeg4
            self._encoder = kind(self.path, self._fps, self._size)
        if (width, height) != self._size:
            image = _fitted(image, self._size)
        self._encoder.write(image)
        self._written += 1

    def close(self) -> None:
        """Finish the file and check that it is complete: OpenCV does not report a full disk."""
        if self._encoder is None:
            return
        self._encoder.close()
        self._encoder = None
        with quiet_opencv():
            capture = cv2.VideoCapture(str(self.path))
            whole = capture.isOpened() and capture.get(cv2.CAP_PROP_FRAME_COUNT) >= self._written
            capture.release()
        if not whole:
            raise InputError(f'{self.path} was not written completely (is the disk full?)')


def plays_in_browsers() -> bool:
    """Whether browsers can play the written videos, that is, whether PyAV can write H.264."""
    try:
        import_module('av').Codec(H264, 'w')
    except (ImportError, ValueError):
        return False
    return True


def _fitted(image: npt.NDArray[np.uint8], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Shrink a frame that is too large, and pad one that is too small."""
    height, width = image.shape[:2]
    shrink = min(1.0, size[0] / width, size[1] / height)
    if shrink < 1.0:
        image = cv2.resize(image, (max(1, int(width * shrink)), max(1, int(height * shrink))),
                           interpolation=cv2.INTER_AREA)
        height, width = image.shape[:2]
    border = cv2.BORDER_REPLICATE if shrink == 1.0 else cv2.BORDER_CONSTANT
    return np.asarray(cv2.copyMakeBorder(image, 0, size[1] - height, 0, size[0] - width, border))


class _H264:
    """Encoder with PyAV."""

    def __init__(self, path: Path, fps: float, size: tuple[int, int]) -> None:
        self._av, self._path = import_module('av'), path
        with self._sentences():
            self._file = self._av.open(str(path), 'w', format='mp4',
                                       options={'movflags': '+faststart'})
            self._stream = self._file.add_stream(
                H264, rate=Fraction(fps).limit_denominator(1001), options=H264_OPTIONS)
            self._stream.width, self._stream.height = size
            self._stream.pix_fmt = 'yuv420p'

    def write(self, image: npt.NDArray[np.uint8]) -> None:
        with self._sentences():
            frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(image), 'bgr24')
            self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        with self._sentences():
            try:
                self._file.mux(self._stream.encode())
            finally:
                self._file.close()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except self._av.error.FFmpegError as error:
            raise InputError(f'{self._path} cannot be written as a video: '
                             f'{error.strerror or error}') from None


class _Mpeg4:
    """Encoder with OpenCV."""

    def __init__(self, path: Path, fps: float, size: tuple[int, int]) -> None:
        with quiet_opencv():
            self._writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*'mp4v'), fps, size)
        if not self._writer.isOpened():
            raise InputError(f'{path} cannot be written as a video')

    def write(self, image: npt.NDArray[np.uint8]) -> None:
        self._writer.write(image)

    def close(self) -> None:
        self._writer.release()
