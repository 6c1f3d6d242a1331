# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Rendered scenes as folders of images and masks in the layout of the DAVIS data set.

``JPEGImages/<scene>/00000.jpg`` … are the frames, ``Annotations/<scene>/00000.png`` … their
masks: 255 on bodies that move relative to the static world, 0 elsewhere.
"""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions
from gdm_motion_seg_tools.synth.scenes import scene_named
from gdm_motion_seg_tools.synth.texture import Image
from gdm_motion_seg_tools.synth.truth import Truth

IMAGES, ANNOTATIONS = 'JPEGImages', 'Annotations'
MOVING = 255
"""Value of a moving pixel in a mask."""


def write_mask_folder(folder: Path, options: SceneOptions,
                      on_frame: Callable[[int], None] = lambda done: None) -> None:
    """Render a scene into the folder; ``on_frame`` is called with the number of frames done."""
    renderer = Renderer(scene_named(options.scene), options.size, options.fps, options.seed)
    truth = Truth.of_scene(renderer.scene, renderer.camera)
    images, masks = (folder / part / options.scene for part in (IMAGES, ANNOTATIONS))
    for place in (images, masks):
        place.mkdir(parents=True)
    # The clip begins ``gap`` frames into the scene: each frame is compared with an earlier one.
    for i in range(options.gap + options.n_frames):
        frame = renderer.frame(i)
        truth.add(frame)
        done = i - options.gap
        if done >= 0:
            mask = moving_mask(truth, truth.frames[done].stamp, frame.stamp)
            _write(images / f'{done:05d}.jpg', frame.image)
            _write(masks / f'{done:05d}.png', mask)
            on_frame(done + 1)
        truth.forget_labels(frame.stamp)


def _write(path: Path, image: Image) -> None:
    flags = [cv2.IMWRITE_JPEG_QUALITY, 95] if path.suffix == '.jpg' else []
    if not cv2.imwrite(str(path), image, flags):
        raise InputError(f'{path} could not be written')


def moving_mask(truth: Truth, older_stamp: int, newer_stamp: int) -> Image:
    """Return 255 where the newer frame shows a body that moved since the older one."""
    meaning = np.zeros(256, np.uint8)
    for label in range(1, len(truth.names)):
        if not truth.motion(older_stamp, newer_stamp, label).is_still:
            meaning[label] = MOVING
    return np.asarray(meaning[truth.labels(newer_stamp)])
