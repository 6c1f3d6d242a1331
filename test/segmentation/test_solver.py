# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The search of the pair solver, its proposals and its covers."""

import time

import numpy as np
import pytest
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.problem import pose_problem
from gdm_motion_seg.segmentation.proposals import draw_covers, draw_samples, SAMPLE
from gdm_motion_seg.segmentation.solver import Solver


def pose(pair):
    return pose_problem(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))


def solve(problem, weights=Weights(), **options):
    return Solver(problem, weights, np.random.default_rng(0), **options).partition()


@pytest.mark.parametrize('n_motions', [1, 2, 3])
def test_the_number_of_motions_and_the_labels_are_found(pair_of, right, n_motions):
    pair = pair_of(n_motions, 1, n_points=200, outliers=0.1)
    found = solve(pose(pair))
    assert found.n_motions == n_motions
    assert right(found.labels, pair.truth) > 0.9


def test_a_given_number_of_motions_is_kept(pair_of):
    problem = pose(pair_of(2, 0))
    for n_motions in (1, 2, 3):
        assert solve(problem, n_motions=n_motions).n_motions == n_motions


def test_no_more_motions_are_found_than_allowed(pair_of):
    assert solve(pose(pair_of(3, 0)), max_motions=2).n_motions <= 2


def test_the_same_seed_gives_the_same_partition(pair_of):
    problem = pose(pair_of(3, 0, outliers=0.2))
    one, other = solve(problem), solve(problem)
    assert (one.labels == other.labels).all() and one.energy == other.energy


def test_a_deadline_that_has_passed_still_gives_labels(pair_of):
    solver = Solver(pose(pair_of(2, 0)), Weights(), np.random.default_rng(0),
                    deadline=time.perf_counter())
    found = solver.partition()
    assert solver.was_short and len(found.labels) == len(pair_of(2, 0))


def test_samples_are_drawn_from_neighbourhoods(pair_of):
    tree = cKDTree(pose(pair_of(2, 0, n_points=150)).rays.T)
    samples = draw_samples(tree, 40, np.random.default_rng(0))
    assert samples.shape == (40, SAMPLE)
    near = [set(row) for row in tree.query(tree.data, k=12)[1]]
    for row in samples[::4]:
        assert len(np.unique(row)) == SAMPLE
        assert any(near_one.issuperset(row) for near_one in near)


def test_flow_clusters_are_separated_by_jumps_of_the_flow():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 400, (200, 2))
    inside = np.linalg.norm(x1 - 200.0, axis=1) < 60.0
    x2 = x1 + np.where(inside[:, None], [25.0, 0.0], [0.0, 0.0])
    problem = pose_problem(Correspondences.from_arrays(x1, x2, (640, 480)))
    first, points = problem.blocks
    found = np.split(points, first[1:-1])
    assert any(set(members) == set(np.flatnonzero(inside)) for members in found)


def test_a_cover_consists_of_proposals_that_explain_different_points():
    gains = np.repeat(np.eye(3), 10, axis=0) @ np.kron(np.eye(3), np.full(20, 4.0))
    chosen, totals = draw_covers(gains, 3, np.random.default_rng(0).random((40, 30)))
    best = chosen[totals.argmax()]
    assert set(best // 10) == {0, 1, 2}
    assert totals.max() == gains.max(axis=0).sum()


def test_no_seed_lets_the_search_go_on_for_ever(pair_of):
    problem = pose(pair_of(1, 0, n_points=60, noise=0.5))
    for seed in range(10):
        Solver(problem, Weights(), np.random.default_rng(seed), n_motions=2).partition()
