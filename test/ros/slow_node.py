# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node on a machine on which every track takes a fixed time; tests start it."""

import time
from typing import Any

from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.main import main

SECONDS_PER_TRACK = 4e-4


def slowly(self: MotionPipeline, tracked: Any) -> FrameResult:
    """Replace ``MotionPipeline.segment``."""
    time.sleep(SECONDS_PER_TRACK * len(tracked.window))
    return segment(self, tracked)


segment = MotionPipeline.segment
setattr(MotionPipeline, 'segment', slowly)
main()
