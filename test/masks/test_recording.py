# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Masks of recordings, whose first frames get masks from a backward run."""

import numpy as np

from gdm_motion_seg.masks.recording import RecordingMasks
from gdm_motion_seg.pipeline import MotionPipeline, PipelineConfig
from gdm_motion_seg_tools.synth import Renderer, scene_named


def test_a_large_body_is_masked_from_the_first_frame_on_with_one_id():
    renderer = Renderer(scene_named('bus'), (320, 240), 30.0, 0)
    config = PipelineConfig()
    pipeline, recording, truth, found = MotionPipeline(config), RecordingMasks(config), [], []
    for index in range(32):
        frame = renderer.frame(index)
        truth.append(frame.labels > 0)
        found += recording.add(frame.image, pipeline.process(frame.image, frame.stamp))
    assert len(found) == 32
    for instances, moves in zip(found, truth):
        assert np.sum((instances > 0) & moves) > 0.8 * np.sum((instances > 0) | moves)
    assert len({np.bincount(instances[moves]).argmax()
                for instances, moves in zip(found, truth)}) == 1
