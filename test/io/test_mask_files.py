# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Masks and instance images as files."""

import cv2
import numpy as np

from gdm_motion_seg.io.frames import Frame
from gdm_motion_seg.io.masks import FIRST_WITHOUT_TRACKS, MaskFiles
from gdm_motion_seg.masks.bodies import FLOW_BODY
from gdm_motion_seg.masks.recording import RecordingMasks
from gdm_motion_seg.pipeline import MotionPipeline, PipelineConfig
from gdm_motion_seg_tools.synth import Renderer, scene_named

FRAMES = 24


def test_an_instance_image_has_the_ids_of_the_motions_and_high_numbers_without_one(tmp_path):
    config = PipelineConfig()
    pipeline, files = MotionPipeline(config), MaskFiles(RecordingMasks(config), None, tmp_path)
    renderer, ids = Renderer(scene_named('two_movers'), (320, 240)), {0}
    for i in range(FRAMES):
        frame = renderer.frame(i)
        result = pipeline.process(frame.image, frame.stamp)
        files.write(Frame(frame.image, frame.stamp), result)
        ids |= {motion.id for motion in result.motions}
    files.close()
    images = [cv2.imread(str(path), cv2.IMREAD_UNCHANGED) for path in sorted(tmp_path.iterdir())]
    assert len(images) == FRAMES
    found = set(np.unique(images).tolist())
    assert len(found) > 1
    assert all(number in ids or number >= FIRST_WITHOUT_TRACKS for number in found)
    on_bodies = images[-1][renderer.frame(FRAMES - 1).labels > 0]
    assert np.isin(on_bodies, [motion.id for motion in result.motions if motion.id]).mean() > 0.7


def test_numbers_stay_within_16_bits(tmp_path):
    files = MaskFiles(RecordingMasks(PipelineConfig()), None, tmp_path)
    bodies = np.array([[0, 5, 59_999, 70_000, FLOW_BODY + 3, FLOW_BODY, FLOW_BODY + 3]], np.int32)
    assert files._numbered(bodies).tolist() == [[0, 5, 59_999, 59_999, 60_001, 60_000, 60_001]]
