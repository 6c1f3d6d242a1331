# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The input of the pair solver: rays, noise, and a graph of neighbours."""

import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.constants import NEIGHBOURS
from gdm_motion_seg.segmentation.problem import pose_problem


def pose(x1, x2, size=(640, 480), **options):
    return pose_problem(Correspondences.from_arrays(x1, x2, size), **options)


@pytest.fixture(scope='module')
def problem(pair_of):
    """Return the problem of a pair with two motions."""
    pair = pair_of(2)
    return pose(pair.x1, pair.x2)


def test_the_graph_is_symmetric_and_has_no_loops(problem):
    edges = {}
    for a in range(len(problem.precision)):
        for e in range(problem.graph.first[a], problem.graph.first[a + 1]):
            edges[a, int(problem.graph.neighbour[e])] = problem.graph.bond[e]
    assert len(edges) == len(problem.graph.neighbour)
    assert all(a != b and edges[b, a] == weight for (a, b), weight in edges.items())


def test_every_point_has_its_nearest_neighbours_and_bonds_lie_between_0_and_1(problem):
    assert np.diff(problem.graph.first).min() >= NEIGHBOURS
    assert (problem.graph.bond >= 0.0).all() and (problem.graph.bond <= 1.0).all()


def test_neighbours_with_like_flow_have_strong_bonds_and_others_weak_ones():
    x1 = np.column_stack([np.arange(20.0), np.zeros(20)])
    flow = np.where(np.arange(20)[:, None] < 10, [0.0, 0.0], [0.0, 30.0])
    problem = pose(x1, x1 + flow)
    apart = (problem.graph.row < 10) != (problem.graph.neighbour < 10)
    assert (problem.graph.bond[~apart] == 1.0).all()
    assert (problem.graph.bond[apart] < 0.1).all()


def test_rays_are_those_of_the_camera():
    camera = Camera.from_info([500.0, 0, 300, 0, 400.0, 200, 0, 0, 1], [], '', (640, 480))
    points = np.array([[300.0, 200.0], [800.0, 200.0], [300.0, 600.0]] * 3)
    problem = pose(points, points, camera=camera)
    assert np.allclose(problem.rays[:2, :3].T, [[0, 0], [1, 0], [0, 1]])
    assert np.allclose(problem.rays[2:], problem.rays[:2])


def test_points_with_a_large_displacement_have_a_lower_precision():
    x1 = np.random.default_rng(0).uniform(0, 400, (20, 2))
    x2 = x1 + np.linspace(0, 100, 20)[:, None]
    precision = pose(x1, x2).precision
    assert (np.diff(precision) < 0.0).all()


def test_places_have_the_inner_products_of_the_embedding_of_points_at_rest(problem):
    x = problem.vectors[[6, 7]]  # The x and y of the older frame.
    at_rest = pose(*(2 * [np.random.default_rng(0).uniform(0, 400, (20, 2))]))
    assert x.shape == (2, len(problem.precision))
    assert np.allclose(at_rest.vectors.T @ at_rest.vectors, at_rest.places.T @ at_rest.places)


def test_few_points_and_exact_duplicates_are_accepted():
    points = np.repeat(np.random.default_rng(0).uniform(0, 400, (3, 2)), 3, axis=0)
    problem = pose(points, points + 1.0)
    assert len(problem.graph.first) == 10
    assert all(np.isfinite(array).all() for array in (*problem[:4], *problem.graph))
