# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Opens any kind of source of images."""

from pathlib import Path

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import BagSource, is_bag
from gdm_motion_seg.io.cameras import CameraSource
from gdm_motion_seg.io.folders import FolderSource, IMAGE_SUFFIXES
from gdm_motion_seg.io.frames import DEFAULT_FPS, FrameSource
from gdm_motion_seg.io.videos import VideoSource


def open_source(path: Path | str, topic: str | None = None, fps: float | None = None
                ) -> FrameSource:
    """
    Open a bag, a video, a folder of images or a camera as frames.

    Parameters
    ----------
    path : Path or str
        A rosbag2 (folder, mcap or sqlite3 file), a ROS 1 bag, a video, a folder of images, or
        the number of a camera of this machine.
    topic : str, optional
        The image topic of a bag; not needed if it has only one.
    fps : float, optional
        Rate of a folder of images (default 30), or a rate that replaces that of a video.

    """
    path = Path(path)
    if str(path).isdecimal() and not path.exists() and topic is None:
        return CameraSource(int(str(path)), fps)
    if not path.exists():
        raise InputError(f'{path} does not exist')
    if fps is not None and not 0.1 <= fps <= 1000:
        raise InputError(f'fps must lie in 0.1 to 1000, got {fps:g}')
    if is_bag(path):
        return BagSource(path, topic)
    if topic is not None:
        raise InputError(f'{path} is not a bag, so it has no topic {topic!r}')
    if path.is_dir():
        return FolderSource(path, fps or DEFAULT_FPS)
    if path.suffix.lower() in IMAGE_SUFFIXES:
        raise InputError(f'{path} is a single image; give the folder that holds the sequence')
    return VideoSource(path, fps)
