# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace

import cv2
import numpy as np
import pytest
from windows import CAMERA, world_points

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.focal import FocalLength

TURN = np.array([0.02, 0.12, 0.05])
MOVE = np.array([-0.4, 0.05, -0.5])


def learned(true_factor, frames=60, turn=TURN, start=CAMERA):
    """Project a static world with another focal length; return the estimated factor."""
    true = CAMERA.matrix * [[true_factor, 1, 1], [1, true_factor, 1], [1, 1, 1]]
    focal, rng = FocalLength(), np.random.default_rng(0)
    for _ in range(frames):
        points = world_points(400, rng)
        before = points @ cv2.Rodrigues(turn)[0].T + MOVE
        x, then = (p @ true.T / p[:, 2:] for p in (points, before))
        noise = rng.normal(0.0, 0.1, (2, len(x), 2))
        camera = focal.applied_to(start)
        # From the older frame to the newer one.
        rotation = cv2.Rodrigues(turn)[0].T
        direction = -rotation @ MOVE
        pose = np.vstack([rotation, direction / np.linalg.norm(direction)])
        focal.learn(then[:, :2] + noise[1], x[:, :2] + noise[0],
                    np.full((len(x), 3), (0.02, 0.0, 0.02)), pose, camera)
    return focal.applied_to(start).matrix[0, 0] / start.matrix[0, 0]


@pytest.mark.parametrize('true_factor', [0.75, 1.0, 1.3])
def test_the_focal_length_of_a_camera_that_turns_and_translates_is_estimated(true_factor):
    assert learned(true_factor) == pytest.approx(true_factor, rel=0.1)


def test_the_guess_is_kept_if_the_focal_length_is_not_observable():
    assert learned(0.75, turn=np.zeros(3)) == 1.0


def test_a_calibrated_camera_keeps_its_focal_length():
    known = replace(CAMERA, is_guess=False)
    assert FocalLength().applied_to(known) is known
    assert isinstance(FocalLength().applied_to(CAMERA), Camera)
