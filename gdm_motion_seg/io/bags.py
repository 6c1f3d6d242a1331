# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads bags of ROS 2 (mcap, sqlite3) and ROS 1 and writes bags of ROS 2, without ROS."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
import math
from pathlib import Path
import sqlite3
from types import TracebackType
from typing import Any, Literal

from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import get_typestore, Stores

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.frames import DEFAULT_FPS, Frame, FrameSource
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.msgs.images import (
    check_fits, decode_camera_info, decode_compressed, decode_image)

IMAGE = 'sensor_msgs/msg/Image'
COMPRESSED = 'sensor_msgs/msg/CompressedImage'
CAMERA_INFO = 'sensor_msgs/msg/CameraInfo'
BAG_SUFFIXES = frozenset({'.mcap', '.db3', '.bag'})
BAG_VERSION: Literal[9] = 9
"""Version of the written bags; Jazzy and later can play them."""
MAX_DEFINITION = 200_000
"""Largest number of characters of a message definition; that of an image has some thousand."""
MAX_TIME = 2**31 * 10**9
"""Largest time: builtin_interfaces/Time has 32 bits for seconds."""
STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
"""Storage formats of written bags, by their ROS names."""


@lru_cache(maxsize=1)
def typestore() -> Any:
    """Return the standard message types, for writing and for bags without definitions."""
    return get_typestore(Stores.ROS2_JAZZY)


def is_bag(path: Path) -> bool:
    """Whether a path looks like a bag: a folder with metadata, or a storage file."""
    if path.is_dir():
        return (path / 'metadata.yaml').is_file() or bool(_storage_files(path))
    return path.suffix.lower() in BAG_SUFFIXES


def _storage_files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.iterdir() if f.suffix.lower() in BAG_SUFFIXES)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    """Convert any exception of a reader on a damaged bag into an InputError."""
    try:
        yield
    except (InputError, PermissionError):
        raise
    except MemoryError:
        raise InputError(f'{path} needs more memory than is available: it is damaged, or was made '
                         'to do harm') from None
    except Exception as error:  # parsers may raise any exception on damaged files
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise InputError(f'{path} is not a readable bag, or truncated ({reason[:200]})') from None


def _check_definitions(readers: Iterable[Any]) -> None:
    """Refuse message definitions that are so long that parsing would take minutes."""
    total = 0
    for reader in readers:
        with reader:
            for connection in reader.connections:
                length = len(connection.msgdef.data)
                total += length
                if length > MAX_DEFINITION or total > 10 * MAX_DEFINITION:
                    raise InputError(f'the definition of {connection.msgtype[:100]} is too long '
                                     f'({length} characters)')


def check_time(stamp: int) -> int:
    """Return a time in nanoseconds if ROS can represent it; raises InputError otherwise."""
    if not 0 < stamp < MAX_TIME:
        raise InputError(f'its time, {stamp} ns, is outside the range of ROS')
    return stamp


class BagReader:
    """Reads the messages of a bag in the order of recording."""

    def __init__(self, path: Path) -> None:
        """Open the bag."""
        self.path = path
        if not path.exists():
            raise InputError(f'{path} does not exist')
        where = path
        if path.is_dir() and not (path / 'metadata.yaml').is_file():
            files = _storage_files(path)
            if len(files) != 1:
                raise InputError(f'{path} is not a bag: it has no metadata.yaml')
            where = files[0]
        with _one_sentence(path):
            self._reader = AnyReader([where], default_typestore=typestore())
            _check_definitions(self._reader.readers)
            self._reader.open()
            # The reader does not check the metadata of a bag: access all of them here.
            self._connections = [(str(c.topic), str(c.msgtype), int(c.msgcount))
                                 for c in self._reader.connections]
            self._ns = max(int(self._reader.duration), 0) if self._reader.message_count else 0
            self.start = int(self._reader.start_time) if self._reader.message_count else 0
            """Time of recording of the first message in nanoseconds."""

    def close(self) -> None:
        """Close the bag."""
        self._reader.close()

    def __enter__(self) -> 'BagReader':
        """Return the reader itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Close the bag."""
        self.close()

    @property
    def topics(self) -> dict[str, str]:
        """Return the message type of each topic."""
        return {topic: kind for topic, kind, _ in self._connections}

    @property
    def seconds(self) -> float:
        """Time from the first to the last message."""
        return self._ns / 1e9

    @property
    def latched_topics(self) -> set[str]:
        """Return the topics with transient-local durability."""
        return {str(c.topic) for c in self._reader.connections
                for qos in getattr(c.ext, 'offered_qos_profiles', ())
                if getattr(qos.durability, 'name', '') == 'TRANSIENT_LOCAL'}

    def count(self, topic: str) -> int:
        """Count the messages of a topic."""
        return sum(count for name, _, count in self._connections if name == topic)

    def raw(self, *topics: str, start: int | None = None, stop: int | None = None
            ) -> Iterator[tuple[str, str, int, bytes]]:
        """
        Yield topic, type, time and serialised message, of all topics by default.

        ``start`` and ``stop`` limit the times of recording, in nanoseconds; stop is exclusive.
        """
        connections = [c for c in self._reader.connections if not topics or c.topic in topics]
        if not connections:
            return
        messages = self._reader.messages(connections, start, stop)
        while True:
            with _one_sentence(self.path):
                item = next(messages, None)
            if item is None:
                return
            yield item[0].topic, item[0].msgtype, item[1], item[2]

    def messages(self, *topics: str, start: int | None = None, stop: int | None = None
                 ) -> Iterator[tuple[str, int, Any]]:
        """Yield topic, time of recording and message; of all topics and times by default."""
        for topic, kind, stamp, data in self.raw(*topics, start=start, stop=stop):
            with _one_sentence(self.path):
                message = self._reader.deserialize(data, kind)
            yield topic, stamp, message

    def image_topic(self, wanted: str | None = None) -> str:
        """Return the image topic: the given one, or the only one in the bag."""
        images = sorted(t for t, kind in self.topics.items() if kind in (IMAGE, COMPRESSED))
        if wanted is not None:
            if wanted in images:
                return wanted
            raise InputError(f'{self.path} has no image topic {wanted!r}; it has '
                             f'{", ".join(images) or "none"}')
        if not images:
            raise InputError(f'{self.path} contains no images; its topics are '
                             f'{", ".join(sorted(self.topics)) or "none"}')
        if len(images) > 1:
            raise InputError(f'{self.path} has several image topics, choose one with --topic: '
                             f'{", ".join(images)}')
        return images[0]

    def camera(self, image_topic: str) -> tuple[Camera, str] | None:
        """Return the recorded calibration of an image topic and its frame_id; or None."""
        base = image_topic.removesuffix('/compressed').rpartition('/')[0]
        topic = f'{base}/camera_info'
        if self.topics.get(topic) != CAMERA_INFO:
            return None
        for _, _, message in self.messages(topic):
            try:
                # The bag has its own definition of the message, in which any field may be missing.
                with _one_sentence(self.path):
                    return decode_camera_info(_with_ros2_names(message)), message.header.frame_id
            except InputError:
                return None
        return None


def _with_ros2_names(message: Any) -> Any:
    """Return a CameraInfo with lower-case names; ROS 1 wrote D, K, R and P."""
    if hasattr(message, 'K'):
        message.k, message.d = message.K, message.D
    return message


class BagSource(FrameSource):
    """Yields the images of one topic of a bag."""

    def __init__(self, path: Path, topic: str | None = None) -> None:
        """Open the bag and find the topic."""
        self._reader = BagReader(path)
        try:
            self.topic = self._reader.image_topic(topic)
            self._compressed = self._reader.topics[self.topic] == COMPRESSED
            count, seconds = self._reader.count(self.topic), self._reader.seconds
            super().__init__(path, count,
                             min(max(count / seconds, 1.0), 240.0) if seconds > 0 else DEFAULT_FPS)
            self._camera = self._reader.camera(self.topic)
        except BaseException:
            self._reader.close()
            raise

    def close(self) -> None:
        """Close the bag."""
        self._reader.close()

    @property
    def seconds(self) -> float:
        """Time from the first to the last message of the bag."""
        return self._reader.seconds

    def _limits(self) -> tuple[int | None, int | None]:
        """Return the selected range of recording times; None for no limit."""
        begin = self._reader.start
        start = begin + round(self._start * 1e9) if self._start > 0.0 else None
        return start, begin + round(self._stop * 1e9) if self._stop < math.inf else None

    def camera_of(self, frame: Frame) -> Camera | None:
        """Return the calibration if it has this image size and frame_id, as the node does."""
        if self._camera is None:
            return None
        camera, camera_frame = self._camera
        try:
            check_fits(camera, camera_frame, frame.size, frame.frame_id)
        except InputError:
            return None
        return camera

    def _frames(self) -> Iterator[tuple[str, Frame]]:
        decode = decode_compressed if self._compressed else decode_image
        reason, any_good = '', False
        begin, (start, stop) = self._reader.start, self._limits()
        messages = self._reader.messages(self.topic, start=start, stop=stop)
        for i, (_, recorded, message) in enumerate(messages):
            try:
                with _one_sentence(self.path):
                    # A zero stamp means no time in ROS.
                    frame = Frame(decode(message),
                                  check_time(stamp_of(message.header) or recorded),
                                  message.header.frame_id, (recorded - begin) / 1e9)
            except InputError as error:  # skip a bad message, as the node does
                self.skipped += 1
                reason = str(error)
                continue
            any_good = True
            yield f'message {i} of {self.topic}', frame
        if reason and not any_good and not self._is_partial:
            raise InputError(f'no image on {self.topic} of {self.path} can be read: {reason}')


class BagWriter:
    """Writes a bag of ROS 2; topics are declared by their first message."""

    def __init__(self, folder: Path, storage: str = 'mcap') -> None:
        """Create the folder of the bag, which must not exist."""
        if storage not in STORAGES:
            raise InputError(f'storage must be one of {", ".join(STORAGES)}, got {storage!r}')
        self.folder = folder
        try:
            self._writer = Writer(folder, version=BAG_VERSION, storage_plugin=STORAGES[storage])
            self._writer.open()
        except (WriterError, sqlite3.Error) as error:
            raise InputError(f'{folder} cannot be written as a bag: {error}') from None
        self._connections: dict[str, Any] = {}

    def __enter__(self) -> 'BagWriter':
        """Return the writer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        """Finish the bag."""
        self.close()

    def write(self, topic: str, message: Any, stamp: int) -> None:
        """Write a message built from rosbags' classes."""
        kind = message.__msgtype__
        self.write_raw(topic, kind, stamp, typestore().serialize_cdr(message, kind))

    def write_raw(self, topic: str, kind: str, stamp: int, data: bytes | memoryview) -> None:
        """Write a serialised message."""
        try:
            if topic not in self._connections:
                self._connections[topic] = self._writer.add_connection(topic, kind,
                                                                       typestore=typestore())
            self._writer.write(self._connections[topic], stamp, data)
        except (WriterError, sqlite3.Error) as error:
            raise InputError(f'{self.folder} cannot be written: {error}') from None

    def close(self) -> None:
        """Write the remaining data and the metadata."""
        try:
            self._writer.close()
        except (WriterError, sqlite3.Error) as error:
            raise InputError(f'{self.folder} cannot be finished: {error}') from None
