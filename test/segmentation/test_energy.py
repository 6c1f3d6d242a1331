# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The energy J against its definition written plainly, and that every move lowers it."""

import math

import numpy as np
import pytest

from gdm_motion_seg.gdm.dimension import empirical_dimension
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation import energy as e
from gdm_motion_seg.segmentation.energy import Weights
from gdm_motion_seg.segmentation.problem import pose_problem

WEIGHTS = Weights()


@pytest.fixture(scope='module')
def posed(pair_of):
    """Give a problem of three motions with outliers, and its truth."""
    pair = pair_of(3, seed=1, outliers=0.15)
    return pose_problem(Correspondences.from_arrays(pair.x1, pair.x2, pair.image_size)), pair.truth


def fitted(problem, labels):
    """Fit motions to a partition; return them and their costs."""
    count = labels.max() + 1
    rotations, ts = np.empty((count, 3, 3)), np.empty((count, 3))
    e.fit_motions(problem, labels, rotations, ts, WEIGHTS)
    return rotations, ts, e.point_costs(problem, labels, rotations, ts, WEIGHTS)


def shuffled(labels, share, seed=0):
    """Give a share of the points a random label."""
    rng = np.random.default_rng(seed)
    labels = labels.copy()
    some = rng.random(len(labels)) < share
    labels[some] = rng.integers(-1, labels.max() + 1, some.sum())
    return labels


def plain_energy(problem, labels, costs, weights):
    """Evaluate J as the module's docstring writes it, term by term."""
    n, (count, _) = len(labels), costs.shape
    total = 0.0
    for point, k in enumerate(labels):
        total += weights.outlier if k < 0 else min(costs[k, point], weights.cap)
    for point in range(n):
        for edge in range(problem.first[point], problem.first[point + 1]):
            other = problem.neighbour[edge]
            if other > point and labels[other] != labels[point]:
                total += weights.smoothness * problem.bond[edge]
    for k in range(-1, count):
        n_k = int((labels == k).sum())
        if n_k:
            total -= weights.coding * n_k * math.log(n_k / n)
    dims, sizes = [], []
    for k in range(count):
        core = (labels == k) & (costs[k] <= weights.core)
        dims.append(empirical_dimension(problem.vectors[core], weights.epsilon))
        sizes.append(core.sum())
    global_dimension = sum(d ** weights.p for d in dims) ** (1.0 / weights.p)
    mean = np.dot(sizes, dims) / max(sum(sizes), 1)
    inliers = problem.inliers
    price = sum(weights.motion + weights.motion_share * inliers
                * (size / inliers) ** weights.motion_power for size in sizes)
    return total + price + inliers * (weights.global_dimension * global_dimension
                                      + weights.mean_dimension * mean)


@pytest.mark.parametrize('share', [0.0, 0.1, 1.0])
def test_the_energy_is_that_of_its_definition(posed, share):
    problem, truth = posed
    labels = shuffled(truth, share)
    costs = fitted(problem, labels)[2]
    assert e.energy(problem, labels, costs, WEIGHTS) == pytest.approx(
        plain_energy(problem, labels, costs, WEIGHTS), rel=1e-6)


@pytest.mark.parametrize('factor', [1.0, 1.5])
def test_noise_beyond_the_assumed_is_recognised_and_paid_for_once(factor):
    noise = 2.0 * factor ** 2
    costs = np.random.default_rng(0).chisquare(1, (1, 2000)) / 2.0 * noise
    labels = np.zeros(2000, np.int64)
    variance = e._noise_variance(labels, costs, WEIGHTS.cap)
    assert variance == pytest.approx(min(noise, e.NOISE_VARIANCES[-1]), rel=0.3)
    scaled = np.minimum(costs / variance + 0.5 * math.log(variance), WEIGHTS.cap).sum()
    assert scaled < np.minimum(costs, WEIGHTS.cap).sum()


def test_less_noise_than_assumed_changes_no_cost():
    costs = np.random.default_rng(0).chisquare(1, (1, 2000)) / 2.0 * 0.3
    assert e._noise_variance(np.zeros(2000, np.int64), costs, WEIGHTS.cap) == 1.0


def test_the_energy_of_outliers_alone_is_their_price(posed):
    problem, truth = posed
    labels = np.full_like(truth, -1)
    value = e.energy(problem, labels, np.zeros((0, len(labels))), WEIGHTS)
    assert value == pytest.approx(WEIGHTS.outlier * len(labels))


def test_the_truth_has_a_lower_energy_than_a_spoilt_one(posed):
    problem, truth = posed
    values = [e.energy(problem, labels, fitted(problem, labels)[2], WEIGHTS)
              for labels in (truth, shuffled(truth, 0.1), shuffled(truth, 0.5))]
    assert values == sorted(values)


def test_moving_points_lowers_the_energy(posed):
    problem, truth = posed
    costs = fitted(problem, truth)[2]
    labels = shuffled(truth, 0.2)
    before = e.energy(problem, labels, costs, WEIGHTS)
    for _ in range(20):
        moves = e.move_points(problem, labels, costs, WEIGHTS, 1, 1e9)
        after = e.energy(problem, labels, costs, WEIGHTS)
        assert after < before if moves else after == pytest.approx(before)
        before = after
        if not moves:
            break
    assert (labels == truth).mean() > 0.9


def test_no_single_move_is_left_when_moving_ends(posed):
    problem, truth = posed
    costs = fitted(problem, truth)[2]
    labels = shuffled(truth, 0.1)
    e.move_points(problem, labels, costs, WEIGHTS, 100, 1e9)
    value = plain_energy(problem, labels, costs, WEIGHTS)
    rng = np.random.default_rng(0)
    for point in rng.choice(len(labels), 25, replace=False):
        for k in range(-1, len(costs)):
            trial = labels.copy()
            trial[point] = k
            assert plain_energy(problem, trial, costs, WEIGHTS) >= value - 1e-4


def test_relabelling_finds_the_truth_under_the_true_motions(posed):
    problem, truth = posed
    costs = fitted(problem, truth)[2]
    labels = shuffled(truth, 0.3)
    e.relabel(problem, labels, costs, WEIGHTS, WEIGHTS.smoothness, 20)
    assert (labels == truth).mean() > 0.9


def test_relaxing_and_settling_mend_a_spoilt_partition(posed):
    problem, truth = posed
    labels = shuffled(truth, 0.2)
    rotations, ts, costs = fitted(problem, labels)
    before = e.energy(problem, labels, costs, WEIGHTS)
    count, costs = e.relax(problem, labels, rotations, ts, WEIGHTS, 1.0, 6)
    assert count == 3
    relaxed = e.energy(problem, labels, costs, WEIGHTS)
    settled = e.settle(problem, labels, rotations, ts, WEIGHTS, 3, 10.0)[1]
    assert settled <= relaxed < before
    assert (labels == truth).mean() > 0.9


def test_small_motions_are_dissolved_and_the_gaps_closed():
    labels = np.array([0] * 7 + [1] * 3 + [2] * 8 + [-1])
    rotations = np.stack([np.eye(3) * (k + 1) for k in range(3)])
    ts = np.arange(9.0).reshape(3, 3)
    assert e.dissolve_small(labels, rotations, ts, 6) == 2
    assert labels.tolist() == [0] * 7 + [-1] * 3 + [1] * 8 + [-1]
    assert rotations[1, 0, 0] == 3.0 and ts[1].tolist() == [6.0, 7.0, 8.0]


def test_an_empty_motion_gets_a_motion_that_is_finite(posed):
    problem, truth = posed
    labels = np.where(truth == 1, -1, truth)
    rotations, ts, costs = fitted(problem, labels)
    assert np.isfinite(rotations).all() and np.isfinite(ts).all() and np.isfinite(costs).all()
    assert np.isfinite(e.energy(problem, labels, costs, WEIGHTS))
