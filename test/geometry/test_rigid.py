# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions fitted to rays: (R, t) recovered, costs as defined, the sign of t by depths."""

import numpy as np
import pytest

from gdm_motion_seg.geometry import rigid

CAP = 8.0


def rays(view, clean=False):
    """Return the rays of both views as (4, N), and the precision for half a pixel of noise."""
    k = view.camera_matrix
    first, second = (view.clean1, view.clean2) if clean else (view.x1, view.x2)
    both = np.hstack([(x - k[:2, 2]) / k[0, 0] for x in (first, second)])
    return np.ascontiguousarray(both.T), np.full(len(both), (k[0, 0] / 0.5) ** 2)


def motion_of(rotation, t):
    """Return R and, as the last row, the unit vector along t."""
    return np.vstack([rotation, t / np.linalg.norm(t)])


def fit(y, precision, samples):
    """Fit a motion to each row of indices."""
    motions = np.empty((len(samples), 4, 3))
    for motion, sample in zip(motions, samples):
        rigid.fit_rigid(motion, y, sample, precision, CAP)
    return motions


def refine(motion, y, precision, iterations, members=None, weight=None, behind=0.0):
    """Refine on all points, by default with equal weights."""
    n = y.shape[1]
    return rigid.refine_rigid(
        motion, y, np.arange(n) if members is None else members, precision,
        np.ones(n) if weight is None else weight, behind, iterations)


def essential(rotation, t):
    """Compute [t]x R."""
    x, y, z = t
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ rotation


def angle(a, b):
    """Angle between two rotations in degrees."""
    return np.degrees(np.arccos(np.clip((np.trace(a.T @ b) - 1.0) / 2.0, -1.0, 1.0)))


def direction_error(t, truth):
    """Angle between two directions in degrees, sign included."""
    cosine = t @ truth / np.linalg.norm(t) / np.linalg.norm(truth)
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


@pytest.mark.parametrize('seed', range(5))
def test_a_refinement_recovers_the_motion_of_exact_points(views, seed):
    view = views(seed, noise=0.0)
    y, precision = rays(view, clean=True)
    motion = motion_of(np.eye(3), view.translation / np.linalg.norm(view.translation) + 0.2)
    assert refine(motion, y, precision, 80) < 1e-3
    assert angle(motion[:3], view.rotation) < 0.02
    assert min(direction_error(s * motion[3], view.translation) for s in (1.0, -1.0)) < 0.3


@pytest.mark.parametrize('seed', range(5))
def test_a_fit_without_a_start_recovers_the_motion_and_its_sign_despite_noise(views, seed):
    view = views(seed, n=200, noise=0.3, baseline=1.0)
    y, precision = rays(view)
    motions, everyone = np.empty((1, 4, 3)), np.arange(200)
    rigid.fit_rigid(motions[0], y, everyone, precision, CAP)
    costs = rigid.rigid_costs(motions, y, precision, everyone, CAP)
    assert angle(motions[0, :3], view.rotation) < 0.5
    assert direction_error(motions[0, 3], view.translation) < 5.0
    assert np.median(costs) < 1.0


def test_a_fit_tolerates_a_fifth_of_wrong_points(views):
    view = views(3, n=200, noise=0.3, baseline=1.0)
    y, precision = rays(view)
    wrong = np.random.default_rng(0).choice(200, 40, replace=False)
    y[2:, wrong] = np.random.default_rng(1).uniform(-0.4, 0.4, (2, 40))
    motion = motion_of(np.eye(3), view.translation)
    refine(motion, y, precision, 30)
    assert angle(motion[:3], view.rotation) < 0.5


def test_points_of_weight_zero_have_no_effect(views):
    view = views(3, n=200, noise=0.3, baseline=1.0)
    y, precision = rays(view)
    spoilt, weight = y.copy(), np.ones(200)
    spoilt[2:, 150:] += 0.05
    weight[150:] = 0.0
    weighted, listed = (motion_of(np.eye(3), view.translation) for _ in range(2))
    refine(weighted, spoilt, precision, 20, weight=weight)
    refine(listed, y, precision, 20, members=np.arange(150))
    assert np.allclose(weighted, listed, atol=1e-6)


def test_the_penalty_on_negative_parallax_moves_points_in_front_of_the_camera(views):
    view = views(2, n=200, noise=0.3, baseline=0.3)
    y, precision = rays(view)

    def behind(motion):
        cost, mirrored = np.empty(200), np.empty(200)
        rigid.rigid_cost(motion, y, precision, cost, mirrored)
        return (cost > mirrored).sum()

    start = motion_of(view.rotation, -view.translation)
    assert behind(start) > 150
    refine(start, y, precision, 50, behind=1.0)
    assert behind(start) < 100


def test_a_refinement_never_raises_the_cost(views):
    for seed in range(5):
        y, precision = rays(views(seed, noise=1.0))
        motion = motion_of(np.eye(3), np.random.default_rng(seed).normal(size=3))
        for behind in (0.0, 0.1):
            costs = [refine(motion, y, precision, steps, behind=behind) for steps in (0, 1, 2, 8)]
            assert costs == sorted(costs, reverse=True)


def test_the_result_is_a_rotation_and_a_unit_vector(views):
    y, precision = rays(views(0, noise=5.0))
    motions = fit(y, precision, np.random.default_rng(0).integers(0, 100, (50, 8)))
    rotations = motions[:, :3]
    assert np.allclose(rotations @ rotations.transpose(0, 2, 1), np.eye(3), atol=1e-9)
    assert np.allclose(np.linalg.det(rotations), 1.0)
    assert np.allclose(np.linalg.norm(motions[:, 3], axis=1), 1.0)


def test_the_cost_is_the_squared_sampson_distance_where_points_lie_in_front(views):
    view = views(1, noise=0.5, baseline=1.0)
    y, precision = rays(view)
    motion = motion_of(view.rotation, view.translation)
    cost, mirrored = np.empty(y.shape[1]), np.empty(y.shape[1])
    rigid.rigid_cost(motion, y, precision, cost, mirrored)
    h1, h2 = (np.column_stack([half.T, np.ones(len(cost))]) for half in (y[:2], y[2:]))
    e = essential(motion[:3], motion[3])
    lines2, lines1 = h1 @ e.T, h2 @ e
    squared = (h2 * lines2).sum(axis=1) ** 2 / ((lines2[:, :2] ** 2).sum(axis=1)
                                                + (lines1[:, :2] ** 2).sum(axis=1))
    front = cost <= mirrored
    assert front.mean() > 0.9
    assert np.allclose(cost[front], 0.5 * squared[front] * precision[front])
    assert (mirrored[front] >= cost[front]).all()
    assert (mirrored - cost <= rigid.BEHIND_CAP + 1e-9).all()


def test_the_sign_of_t_puts_the_points_in_front_of_the_camera(views):
    view = views(2, noise=0.1, baseline=1.0)
    y, precision = rays(view)
    truth = motion_of(view.rotation, view.translation)
    motions = np.stack([truth, motion_of(view.rotation, -view.translation)])
    costs = rigid.rigid_costs(motions, y, precision, np.arange(y.shape[1]), CAP)
    assert np.allclose(motions, truth)
    assert np.allclose(costs[0], costs[1])


@pytest.mark.parametrize('points', [
    np.zeros((8, 2)), np.tile([0.3, -0.2], (8, 1)), np.linspace(0, 1, 8)[:, None] * [1.0, 2.0],
    np.full((8, 2), 1e3), np.linspace(-1e4, 1e4, 16).reshape(8, 2)])
def test_degenerate_points_give_finite_motions(points):
    precision = np.full(8, 1e6)
    for shift in (0.0, 0.01):
        y = np.ascontiguousarray(np.hstack([points, points + shift]).T)
        motions = fit(y, precision, np.arange(8)[None])
        costs = rigid.rigid_costs(motions, y, precision, np.arange(8), CAP)
        assert np.isfinite(motions).all()
        assert np.isfinite(costs).all() and (costs <= CAP).all()
