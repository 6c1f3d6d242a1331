# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Islands of flow: what a jump of the flow cuts off, and nothing else."""

import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.islands import flow_islands
from gdm_motion_seg.segmentation.problem import pose_problem

SIZE = (640, 480)


def world_with(inside, step, n=400, seed=0):
    """Pose a pair whose flow is smooth but for a patch that moves by ``step`` more."""
    rng = np.random.default_rng(seed)
    x1 = rng.uniform((0, 0), SIZE, (n, 2))
    flow = 0.01 * (x1 - np.array(SIZE) / 2)
    patch = inside(x1)
    x2 = x1 + flow + np.where(patch[:, None], step, 0.0)
    return pose_problem(Correspondences.from_arrays(x1, x2, SIZE)), patch


def disc(x):
    """Tell which points lie in a disc."""
    return np.linalg.norm(x - np.array([400.0, 200.0]), axis=1) < 80.0


@pytest.mark.parametrize('step', [(20.0, 0.0), (0.0, -15.0), (-25.0, 10.0)])
@pytest.mark.parametrize('seed', range(3))
def test_a_patch_that_moves_otherwise_is_the_first_island(step, seed):
    problem, patch = world_with(disc, step, seed=seed)
    first = flow_islands(problem, 6, 4)[0]
    assert (first & patch).sum() >= 0.9 * (first | patch).sum()


def test_islands_differ_from_each_other_and_hold_from_six_points_to_half_of_them():
    problem, _ = world_with(disc, (20.0, 0.0))
    islands = flow_islands(problem, 6, 12)
    assert 1 <= len(islands) <= 12
    for i, island in enumerate(islands):
        assert 6 <= island.sum() <= 200
        assert all((island & other).sum() < 0.8 * (island | other).sum() for other in islands[:i])


def test_a_group_without_any_neighbour_outside_is_an_island():
    def far(x):
        return x[:, 0] < 40.0

    problem, patch = world_with(far, (300.0, 0.0))
    assert any((island == patch).all() for island in flow_islands(problem, 6, 12))


def test_few_points_have_no_island():
    problem, _ = world_with(disc, (20.0, 0.0), n=9)
    assert flow_islands(problem, 6, 12) == []
