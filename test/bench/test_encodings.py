# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from gdm_motion_seg_tools.bench.encodings import answers_of, as_video, compare
from gdm_motion_seg_tools.synth.render import render_scene


@pytest.fixture(scope='module')
def frames():
    """Render a box that moves."""
    return [frame.image for frame in render_scene('small_mover', 12, size=(320, 240))]


def test_equal_results_agree_completely(frames):
    answers = answers_of(frames, 30.0)
    row = compare(answers, answers)
    assert row['same_bodies'] == row['keypoints_agree'] == 1.0
    assert row['keypoints_common'] > 1000


def test_a_video_gives_back_as_many_frames_of_the_same_size_that_look_alike(frames):
    pytest.importorskip('av')
    decoded = as_video('h264', frames, 30.0)
    assert len(decoded) == len(frames) and decoded[0].shape == frames[0].shape
    assert np.abs(decoded[5].astype(int) - frames[5]).mean() < 20
