# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node's dense outputs, masks and instances; they are made only if subscribed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.msgs.masks import instances_image, mask_image
from gdm_motion_seg.msgs.types import MessageTypes
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.ros.config import NodeConfig

MASK = 'mask'
INSTANCES = 'instances'


class DenseOutputs:
    """Masks of the frames of one stream."""

    def __init__(self, types: MessageTypes, wanted: Callable[[str], bool],
                 publish: Callable[[str, Any], None]) -> None:
        """Build messages of these types and publish them to these outputs."""
        self._types, self._wanted, self._publish = types, wanted, publish
        self._masks = MotionMasks()

    def publish(self, image: npt.NDArray[np.generic], result: FrameResult, header: Any,
                config: NodeConfig) -> npt.NDArray[np.int32] | None:
        """Make and publish the subscribed outputs; returns the instances if they were made."""
        mask, instances = self._wanted(MASK), self._wanted(INSTANCES)
        if not mask and not instances:
            return None
        found = self._masks.process(image, result)
        if mask:
            self._publish(MASK, mask_image(self._types, header, found, config.mask_dilation_px,
                                           config.mask_moving_is_white))
        if instances:
            self._publish(INSTANCES, instances_image(self._types, header, found))
        return found
