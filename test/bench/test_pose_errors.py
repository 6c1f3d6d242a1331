# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of poses."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg_tools.bench import poses
from gdm_motion_seg_tools.bench.registry import BENCHMARKS


def test_angles_are_those_between_directions_and_between_rotations():
    assert poses.angle_between(np.array([1.0, 0, 0]), np.array([0, 2.0, 0])) == pytest.approx(90)
    assert poses.angle_between(np.array([1.0, 0, 0]), np.array([-3.0, 0, 0])) == 180
    tiny, half = np.radians([1e-4, 120.0])
    for angle in (tiny, half):
        turned = cv2.Rodrigues(angle * np.array([0.6, 0.0, 0.8]))[0]
        assert poses.turn_between(turned, np.eye(3)) == pytest.approx(np.degrees(angle))


def test_the_pose_of_the_world_of_a_rendered_scene_is_nearly_the_true_one():
    summary, rows = poses.measure_poses(('two_movers', 'pure_rotation'), frames=10)
    assert [row['pair'] for row in rows] == ['two_movers', 'pure_rotation']
    assert summary['pose_pairs'] == 10 and summary['pose_share'] > 0.7
    assert 0 < summary['rotation_error_deg'] < 0.2
    # A camera that only rotates has no direction of translation; the other one has.
    assert 'direction_error_deg' not in rows[1] and 0 < rows[0]['direction_error_deg'] < 6


def test_a_missing_pose_is_counted_and_not_left_out():
    good = poses.PoseError(0.1, float('nan'), 0.1, 180.0)
    assert poses.summarise_poses([good, None])['pose_share'] == 0.5
    assert 'direction_error_deg' not in poses.summarise_poses([good, None])
    assert poses.summarise_poses([])['pose_pairs'] == 0


def test_the_figures_of_poses_belong_to_the_benchmark_of_rendered_geometry():
    assert BENCHMARKS['synthetic'].product is poses.measure_poses
    assert {'rotation_error_deg', 'direction_error_deg'} <= set(BENCHMARKS['synthetic'].headline)
