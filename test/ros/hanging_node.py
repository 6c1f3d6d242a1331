# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node, with a segmentation of the second frame that never ends; tests start it."""

from itertools import count
import threading
from typing import Any

from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.main import main

HANGS = 10**9 + 33_333_333
"""Stamp of the frame."""


def hang(self: MotionPipeline, tracked: Any) -> FrameResult:
    """Replace ``MotionPipeline.segment``."""
    if tracked.stamp == HANGS and next(times) == 0:
        threading.Event().wait()
    return segment(self, tracked)


times = count()
segment = MotionPipeline.segment
setattr(MotionPipeline, 'segment', hang)
main()
