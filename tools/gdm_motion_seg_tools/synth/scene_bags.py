# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes rendered scenes as bags with ground truth."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gdm_motion_seg.io.bags import BagWriter, typestore
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed, encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named
from gdm_motion_seg_tools.synth.truth import FOLDER, Truth

IMAGE_TOPIC = '/camera/image_raw'
INFO_TOPIC = '/camera/camera_info'
FRAME_ID = 'camera'


@dataclass(frozen=True)
class SceneOptions:
    """Options of a rendered bag."""

    scene: str = 'demo'
    n_frames: int = 150
    size: tuple[int, int] = (640, 480)
    fps: float = 30.0
    seed: int = 0
    storage: str = 'mcap'
    compressed: bool = False
    """Whether the images are stored as JPEG (sensor_msgs/CompressedImage)."""
    gap: int = 5
    """Gap in frames of the pairs whose motions and fundamental matrices are listed."""


def write_scene(folder: Path, options: SceneOptions,
                on_frame: Callable[[int], None] = lambda done: None) -> Truth:
    """
    Render a scene into a rosbag2 folder with its ground truth; returns the ground truth.

    The folder must not contain a bag. ``on_frame`` is called with the number of frames done.
    """
    renderer = Renderer(scene_named(options.scene), options.size, options.fps, options.seed)
    truth = Truth.of_scene(renderer.scene, renderer.camera)
    types = rosbags_types()
    labels = folder / FOLDER / 'labels'
    with BagWriter(folder, options.storage) as bag:
        for i in range(options.n_frames):
            frame = renderer.frame(i)
            header = header_of(types, frame.stamp, FRAME_ID)
            if options.compressed:
                image = encode_compressed(types, header, frame.image, quality=95)
                bag.write(f'{IMAGE_TOPIC}/compressed', image, frame.stamp)
            else:
                bag.write(IMAGE_TOPIC, encode_image(types, header, frame.image), frame.stamp)
            info = camera_info(types, header, frame.camera, options.size)
            bag.write(INFO_TOPIC, info, frame.stamp)
            truth.add(frame, labels / f'{i:06d}.png')
            on_frame(i + 1)
    truth.save(folder / FOLDER, options.gap)
    return truth


def camera_info(types: Any, header: Any, matrix: np.ndarray[Any, np.dtype[np.float64]],
                size: tuple[int, int]) -> Any:
    """Build the sensor_msgs/CameraInfo of a pinhole camera without distortion."""
    region = typestore().types['sensor_msgs/msg/RegionOfInterest']
    return types.CameraInfo(
        header=header, height=size[1], width=size[0], distortion_model='plumb_bob', d=np.zeros(5),
        k=matrix.reshape(-1), r=np.eye(3).reshape(-1),
        p=np.hstack((matrix, np.zeros((3, 1)))).reshape(-1), binning_x=0, binning_y=0,
        roi=region(x_offset=0, y_offset=0, height=0, width=0, do_rectify=False))
