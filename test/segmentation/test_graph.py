# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The neighbour graph, compared with a simple one made by scipy."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from gdm_motion_seg.geometry.neighbours import nearest_neighbours
from gdm_motion_seg.segmentation.constants import (
    BOND_PX, BOND_SHARE, BOND_SLOPE, LIKE, NEIGHBOURS, REACH)
from gdm_motion_seg.segmentation.graph import image_graph

WIDTH = 640.0


def plain_edges(x, flow):
    """Return the edges (a, b), where b is a neighbour of a, and their bonds, sorted."""
    n = len(x)
    distance, near = cKDTree(x).query(x, k=min(NEIGHBOURS + 1, n),
                                      distance_upper_bound=REACH * WIDTH)
    one = np.repeat(np.arange(n), NEIGHBOURS + 1)
    other, distance = near.ravel(), distance.ravel()
    real = (other < n) & (other != one)
    one, other, distance = one[real], other[real], distance[real]
    key = np.minimum(one, other) * n + np.maximum(one, other)
    _, once = np.unique(key, return_index=True)
    a, b = one[once], other[once]
    difference = np.linalg.norm(flow[a] - flow[b], axis=1)
    speed = np.minimum(*np.linalg.norm([flow[a], flow[b]], axis=2))
    return a, b, np.exp(-difference / (BOND_PX + BOND_SLOPE * distance[once] + BOND_SHARE * speed))


def scattered(n, seed, whole=False):
    """Return points and their flow; integers give many equal distances."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, (640, 480), (n, 2))
    return np.rint(x / 8) * 8 if whole else x, rng.normal(0.0, 3.0, (n, 2))


@pytest.mark.parametrize('spread', [0.3, 1.0, 8.0])
def test_the_neighbours_are_as_near_as_those_of_a_tree_where_distances_are_equal(spread):
    x = spread * scattered(400, 400, whole=True)[0] - 100.0
    found = nearest_neighbours(x, NEIGHBOURS, REACH * WIDTH)
    distance = np.linalg.norm(x[:, None] - np.vstack([x, [np.inf, np.inf]])[found], axis=2)
    # The tree counts the point itself, or one at the same place, as the first.
    expected = cKDTree(x).query(x, k=NEIGHBOURS + 1, distance_upper_bound=REACH * WIDTH)[0][:, 1:]
    np.testing.assert_allclose(distance, expected)


@pytest.mark.parametrize('n', [30, 400])
def test_the_graph_has_the_edges_of_a_simple_one_in_both_directions(n):
    x, flow = scattered(n, n)
    graph, (a, b, bond) = image_graph(x, flow, WIDTH), plain_edges(x, flow)
    start, end = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((end, start))
    np.testing.assert_array_equal(graph.first, np.searchsorted(start[order], np.arange(n + 1)))
    found = np.lexsort((graph.neighbour, graph.row))
    np.testing.assert_array_equal(graph.neighbour[found], end[order])
    np.testing.assert_allclose(graph.bond[found], np.concatenate([bond, bond])[order])


def test_groups_are_the_connected_components_of_members_with_like_flow():
    x, flow = scattered(300, 1)
    graph = image_graph(x, 0.3 * flow, WIDTH)
    member = np.random.default_rng(2).uniform(size=300) < 0.6
    a, b, bond = plain_edges(x, 0.3 * flow)
    link = member[a] & member[b] & (bond >= LIKE)
    links = csr_array((np.ones(link.sum()), (a[link], b[link])), shape=(300, 300))
    _, expected = connected_components(links, directed=False)
    group = graph.groups(member)
    assert (group[~member] == -1).all()
    same = expected[member][:, None] == expected[member]
    np.testing.assert_array_equal(group[member][:, None] == group[member], same)
    assert len(np.unique(group)) < member.sum(), 'some members are linked'


@pytest.mark.parametrize('n', [1, 2])
def test_one_or_two_points_are_a_graph(n):
    x, flow = scattered(n, 0)
    graph = image_graph(x / 100, flow, WIDTH)
    assert graph.first[-1] == 2 * (n - 1)
    assert graph.groups(np.ones(n, np.bool_)).min() == 0
