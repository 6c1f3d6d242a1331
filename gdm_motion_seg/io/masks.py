# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes masks and instance images as PNG files."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.io.folders import write_image
from gdm_motion_seg.io.frames import Frame
from gdm_motion_seg.masks import motion_mask
from gdm_motion_seg.masks.bodies import FLOW_BODY
from gdm_motion_seg.masks.kernels import IdImage
from gdm_motion_seg.masks.recording import RecordingMasks
from gdm_motion_seg.pipeline import FrameResult

COLMAP_DILATION = 4
"""Pixels by which moving regions grow in masks, so that features on their borders are ignored."""
FIRST_WITHOUT_TRACKS = 60_000
"""First number, in an instance image of 16 bits, of bodies that have no tracks and so no id."""


class MaskFiles:
    """
    Writes a mask and an instance image per frame.

    A mask is named ``<image name>.png`` and is 0 on what moves and 255 elsewhere, as COLMAP
    expects; without a result it is 255 everywhere. An instance image has 16 bits: 0 is the
    world, a body has the id of its motion. Bodies that only the flow shows are numbered from
    60 000 on in the order of their first frame.
    """

    def __init__(self, recording: RecordingMasks, masks: Path | None, instances: Path | None,
                 dilation: int = COLMAP_DILATION, moving_is_white: bool = False) -> None:
        """Create the given folders and write into them."""
        self._recording, self._masks, self._instances = recording, masks, instances
        self._dilation, self._moving_is_white = dilation, moving_is_white
        self._waiting: list[str] = []
        self._written = 0
        self._numbers: dict[int, int] = {}
        for folder in filter(None, (masks, instances)):
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, frame: Frame, result: FrameResult) -> None:
        """Add a frame; its files are written when its mask is finished."""
        number = self._written + len(self._waiting)
        self._waiting.append(frame.name or f'{number:06d}.png')
        self._flush(self._recording.add(frame.image, result))

    def close(self) -> None:
        """Write the remaining files."""
        self._flush(self._recording.finish())

    def _flush(self, finished: list[IdImage]) -> None:
        for instances in finished:
            name = f'{self._waiting.pop(0)}.png'
            self._written += 1
            if self._masks is not None:
                mask = motion_mask(instances, self._dilation, self._moving_is_white)
                write_image(self._masks / name, mask)
            if self._instances is not None:
                write_image(self._instances / name, self._numbered(instances))

    def _numbered(self, instances: IdImage) -> npt.NDArray[np.uint16]:
        out: npt.NDArray[np.uint16] = np.zeros(instances.shape, np.uint16)
        for body in np.unique(instances[instances > 0]).tolist():
            out[instances == body] = self._number(body)
        return out

    def _number(self, body: int) -> int:
        """Return the number of a body in 16 bits; the last of a range stands for all above it."""
        if body < FLOW_BODY:
            return min(body, FIRST_WITHOUT_TRACKS - 1)
        number = FIRST_WITHOUT_TRACKS + self._numbers.setdefault(body, len(self._numbers))
        return min(number, np.iinfo(np.uint16).max)
