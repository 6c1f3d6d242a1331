# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loop over the frames of a source that all offline commands use."""

from collections.abc import Iterator

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.frames import Frame, FrameSource
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline


def answers(source: FrameSource, pipeline: MotionPipeline
            ) -> Iterator[tuple[Frame, FrameResult, Camera | None]]:
    """Yield each frame with its result and its camera."""
    for frame in source:
        pipeline.camera = source.camera_of(frame)
        yield frame, pipeline.process(frame.image, frame.stamp), pipeline.camera
