# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The search: what it finds, from proposals, from the last frame, from a given world."""

import time

import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.problem import pose_problem
from gdm_motion_seg.segmentation.proposals import draw_samples, flow_clusters, SAMPLE, support
from gdm_motion_seg.segmentation.solver import Solver


def pose(pair, **options):
    return pose_problem(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size), **options)


def solve(problem, weights=Weights(), groups=(), **options):
    return Solver(problem, weights, np.random.default_rng(0), **options).partition(groups)


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


def test_the_labels_of_the_last_frame_are_kept_where_they_fit(pair_of, right):
    pair = pair_of(3, 0, outliers=0.1)
    previous = np.where(np.arange(len(pair)) % 3 == 0, -1, pair.truth)
    found = solve(pose(pair, previous=previous))
    assert found.n_motions == 3
    own = found.labels >= 0
    assert (found.labels[own] == pair.truth[own]).mean() > 0.95


def test_staying_with_the_last_label_is_a_term_of_the_energy(pair_of):
    pair = pair_of(2, 0)
    previous = pair.truth.copy()
    previous[pair.truth == 1] = 0
    free = solve(pose(pair, previous=previous), Weights(stay=0.0))
    bound = solve(pose(pair, previous=previous), Weights(stay=1e3))
    assert free.n_motions == 2
    assert (bound.labels == previous).all()


def test_a_still_camera_has_a_world_without_motion(pair_of, right):
    pair = pair_of(2, 0, noise=0.2)
    still = pair.truth == 0
    x2 = np.where(still[:, None], pair.x1 + 0.1, pair.x2)
    flow = np.linalg.norm(x2 - pair.x1, axis=1)
    points = Correspondences.from_arrays(pair.x1, x2, pair.image_size)
    found = solve(pose_problem(points, world=0.5 * (flow / 0.3) ** 2))
    assert (found.labels[still] == 0).mean() > 0.95
    assert (found.labels[~still] == 1).mean() > 0.9


def test_a_group_is_tried_as_a_motion(pair_of):
    pair = pair_of(2, 0)
    group = np.flatnonzero(pair.truth == 1)
    found = solve(pose(pair), groups=[group], effort=0.02)
    assert found.n_motions == 2
    assert len(np.unique(found.labels[group])) == 1


def test_a_deadline_that_has_passed_still_gives_labels(pair_of):
    solver = Solver(pose(pair_of(2, 0)), Weights(), np.random.default_rng(0),
                    deadline=time.perf_counter())
    found = solver.partition()
    assert solver.was_short and len(found.labels) == len(pair_of(2, 0))


def test_samples_come_from_neighbourhoods_of_the_centres(pair_of):
    problem = pose(pair_of(2, 0, n_points=150))
    samples = draw_samples(problem.near, 40, np.array([7]), np.random.default_rng(0))
    assert samples.shape == (40, SAMPLE)
    local = samples[::4]
    assert np.isin(local, problem.near[7, :12]).all()
    assert all(len(np.unique(row)) == SAMPLE for row in local)


def test_flow_clusters_are_sets_that_a_jump_of_the_flow_cuts_off():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 400, (200, 2))
    inside = np.linalg.norm(x1 - 200.0, axis=1) < 60.0
    x2 = x1 + np.where(inside[:, None], [25.0, 0.0], [0.0, 0.0])
    problem = pose_problem(Correspondences.from_arrays(x1, x2, (640, 480)))
    found = flow_clusters(problem, 6)
    assert any(set(members) == set(np.flatnonzero(inside)) for members in found)


def test_support_prefers_a_compact_gain_to_the_same_gain_by_scattered_points(pair_of):
    problem = pose(pair_of(1, 0, n_points=200))
    n = len(problem.precision)
    costs = np.full((2, n), 4.0)
    costs[0, problem.near[0, :15]] = 0.0
    costs[1, ::n // 15] = 0.0
    gains = support(problem, costs, np.full(n, 4.0), 0.3)
    assert gains[0] > 1.3 * gains[1]
