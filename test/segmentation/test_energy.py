# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The energy, its terms, and the descent that minimises it."""

import numpy as np
import pytest

from gdm_motion_seg.gdm.dimension import empirical_dimension
from gdm_motion_seg.gdm.excess import excess_dimension
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.rigid import fit_rigid
from gdm_motion_seg.segmentation import energy
from gdm_motion_seg.segmentation.constants import Weights
from gdm_motion_seg.segmentation.labelling import Blocks, relabel, relabel_blocks
from gdm_motion_seg.segmentation.problem import pose_problem

WEIGHTS = Weights()


@pytest.fixture(scope='module')
def pair(pair_of):
    """Return a pair with two motions and outliers."""
    return pair_of(2, 0, outliers=0.1)


@pytest.fixture(scope='module')
def problem(pair):
    """Return its problem."""
    return pose_problem(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size))


@pytest.fixture(scope='module')
def motions(pair, problem):
    """Return the motions fitted to the true labels."""
    fitted = np.empty((2, 4, 3))
    for k in range(2):
        fit_rigid(fitted[k], problem.rays, np.flatnonzero(pair.truth == k), problem.precision, 8.0)
    return fitted


def excess(problem, members, share):
    """Return the excess dimension of members, and write the shares of all points."""
    return excess_dimension(problem.vectors, problem.places, members, WEIGHTS.epsilon,
                            WEIGHTS.null, share)


def value(problem, labels, motions, weights=WEIGHTS):
    """Return J of a partition without any descent."""
    return energy.descend(problem, labels, motions, weights, 0)[3]


def test_the_excess_dimension_is_that_of_the_paper_minus_that_of_the_places(pair, problem):
    members, share = np.flatnonzero(pair.truth == 0), np.empty(len(pair))
    found = excess(problem, members, share)
    of_motion, of_places = (empirical_dimension(array[:, members].T, WEIGHTS.epsilon)
                            for array in (problem.vectors, problem.places))
    assert found == pytest.approx(of_motion - WEIGHTS.null * of_places, abs=1e-3)


def test_the_shares_of_the_members_in_the_dimension_sum_to_zero(pair, problem):
    members, share = np.flatnonzero(pair.truth == 0), np.empty(len(pair))
    excess(problem, members, share)
    assert abs(share[members].sum()) < 1e-6 * np.abs(share).sum()


def test_a_wrong_match_has_a_larger_share_in_the_dimension_than_the_members(pair, problem):
    members, share = np.flatnonzero(pair.truth == 0), np.empty(len(pair))
    excess(problem, members, share)
    assert np.median(share[pair.truth < 0]) > 5.0 * np.median(np.abs(share[members]))


def test_the_true_partition_costs_less_than_one_motion_and_than_three(pair, problem, motions):
    truth = value(problem, pair.truth, motions) + 2.0 * WEIGHTS.motion
    one = np.where(pair.truth >= 0, 0, -1)
    assert truth < value(problem, one, motions[:1].copy()) + WEIGHTS.motion
    left = (pair.truth == 0) & (pair.x2[:, 0] < np.median(pair.x2[pair.truth == 0, 0]))
    split = np.where(left, 2, pair.truth)
    assert truth < value(problem, split, motions[[0, 1, 0]]) + 3.0 * WEIGHTS.motion


def test_labelling_a_body_as_outliers_costs_its_bonds_and_wrong_matches_have_none(
        pair, problem, motions):
    smooth, plain = Weights(smoothness=5.0, dimension=0.0), Weights(smoothness=0.0, dimension=0.0)
    dumped = np.where(pair.truth == 1, -1, pair.truth)
    bonds = [value(problem, labels, motions[:k].copy(), smooth)
             - value(problem, labels, motions[:k].copy(), plain)
             for labels, k in ((pair.truth, 2), (dumped, 1))]
    assert bonds[0] < 2.0 * (pair.truth < 0).sum()
    assert bonds[1] > 3.0 * (pair.truth == 1).sum()


def test_the_descent_returns_to_the_truth_from_disturbed_labels(pair, problem, motions, right):
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(len(pair)) < 0.2, rng.integers(-1, 2, len(pair)), pair.truth)
    found, _, costs, j = energy.descend(problem, labels, motions, WEIGHTS, 8)
    assert right(found, pair.truth) > 0.95
    assert j < value(problem, labels, motions)
    assert costs.shape == (2, len(pair))


def test_the_descent_does_not_change_its_input(pair, problem, motions):
    labels, before = pair.truth.copy(), motions.copy()
    energy.descend(problem, labels, motions, WEIGHTS, 4)
    assert (labels == pair.truth).all() and (motions == before).all()


def test_pruning_removes_wrong_members_that_mask_each_other(pair, problem, motions):
    labels = np.where(pair.truth < 0, 0, pair.truth)
    costs = np.zeros((2, len(pair)))  # All residuals are equal, so only the dimension decides.
    labels = energy.prune(problem, labels, costs, WEIGHTS._replace(smoothness=0.0))
    wrong = pair.truth < 0
    assert (labels[wrong] < 0).mean() > 0.3
    assert (labels[~wrong] < 0).mean() < 0.05


def test_a_block_of_like_flow_leaves_a_label_that_no_single_point_would_leave():
    x = np.column_stack([np.arange(24.0), np.zeros(24)])
    graph = pose_problem(Correspondences.from_arrays(x, x + 1.0, (640, 480))).graph
    everyone = Blocks(np.array([0, 24]), np.arange(24))
    unary = np.array([[9.0], [2.0], [1.0]]) * np.ones(24)
    labels = np.zeros(24, np.int64)
    relabel(graph, labels, unary, 4.0, 3, 4)
    assert (labels == 0).all()
    relabel_blocks(graph, everyone, labels, unary, 4.0)
    assert (labels == 1).all()
