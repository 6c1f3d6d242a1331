# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions fitted to rays: (R, t) recovered, costs as defined, the sign of t by depths."""

import numpy as np
import pytest

from gdm_motion_seg.geometry import rigid

CAP = 8.0


def rays(view, clean=False):
    """Return the rays of both views, and the precision of half a pixel of noise."""
    k = view.camera_matrix
    first, second = (view.clean1, view.clean2) if clean else (view.x1, view.x2)
    y1, y2 = ((np.ascontiguousarray(x) - k[:2, 2]) / k[0, 0] for x in (first, second))
    return y1, y2, np.full(len(y1), (k[0, 0] / 0.5) ** 2)


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
    y1, y2, precision = rays(view, clean=True)
    rotation = np.eye(3)
    t = view.translation / np.linalg.norm(view.translation) + 0.2
    t /= np.linalg.norm(t)
    cost = rigid.refine_rigid(rotation, t, y1, y2, np.arange(len(y1)), precision, 50)
    assert cost < 1e-3
    assert angle(rotation, view.rotation) < 0.02
    assert min(direction_error(t, view.translation), direction_error(-t, view.translation)) < 0.3


@pytest.mark.parametrize('seed', range(5))
def test_a_fit_from_nowhere_recovers_the_motion_and_its_sign_in_spite_of_noise(views, seed):
    view = views(seed, n=200, noise=0.3, baseline=1.0)
    y1, y2, precision = rays(view)
    rotation, t = np.empty((3, 3)), np.empty(3)
    rigid.fit_rigid(rotation, t, y1, y2, np.arange(len(y1)), precision, CAP)
    costs = rigid.rigid_costs(rotation[None], t[None], y1, y2, precision, CAP)
    assert angle(rotation, view.rotation) < 0.5
    assert direction_error(t, view.translation) < 5.0
    assert np.median(costs) < 1.0


def test_a_fit_bears_a_fifth_of_wrong_points(views):
    view = views(3, n=200, noise=0.3, baseline=1.0)
    y1, y2, precision = rays(view)
    wrong = np.random.default_rng(0).choice(200, 40, replace=False)
    y2[wrong] = np.random.default_rng(1).uniform(-0.4, 0.4, (40, 2))
    t = view.translation / np.linalg.norm(view.translation)
    rotation = np.eye(3)
    rigid.refine_rigid(rotation, t, y1, y2, np.arange(200), precision, 30)
    assert angle(rotation, view.rotation) < 0.5


def test_a_refinement_never_raises_the_cost(views):
    for seed in range(5):
        view = views(seed, noise=1.0)
        y1, y2, precision = rays(view)
        rng, everyone = np.random.default_rng(seed), np.arange(len(y1))
        rotation, t = np.eye(3), rng.normal(size=3)
        t /= np.linalg.norm(t)
        costs = [rigid.refine_rigid(rotation, t, y1, y2, everyone, precision, iterations)
                 for iterations in (0, 1, 2, 4, 8)]
        assert costs == sorted(costs, reverse=True)


def test_the_result_is_a_rotation_and_a_unit_vector(views):
    y1, y2, precision = rays(views(0, noise=5.0))
    rotations, ts = rigid.fit_rigid_samples(
        y1, y2, precision, np.random.default_rng(0).integers(0, 100, (50, 8)), CAP)
    assert np.allclose(rotations @ rotations.transpose(0, 2, 1), np.eye(3), atol=1e-9)
    assert np.allclose(np.linalg.det(rotations), 1.0)
    assert np.allclose(np.linalg.norm(ts, axis=1), 1.0)


def test_the_cost_is_the_squared_sampson_distance_where_points_lie_in_front(views):
    view = views(1, noise=0.5, baseline=1.0)
    y1, y2, precision = rays(view)
    t = view.translation / np.linalg.norm(view.translation)
    cost, mirrored = np.empty(len(y1)), np.empty(len(y1))
    rigid.rigid_cost(view.rotation, t, y1, y2, precision, cost, mirrored)
    h1, h2 = (np.column_stack([y, np.ones(len(y))]) for y in (y1, y2))
    lines2, lines1 = h1 @ essential(view.rotation, t).T, h2 @ essential(view.rotation, t)
    squared = (h2 * lines2).sum(axis=1) ** 2 / ((lines2[:, :2] ** 2).sum(axis=1)
                                                + (lines1[:, :2] ** 2).sum(axis=1))
    front = cost <= mirrored
    assert front.mean() > 0.9
    assert np.allclose(cost[front], 0.5 * squared[front] * precision[front])
    assert (mirrored[front] >= cost[front]).all()
    assert (mirrored - cost <= rigid.BEHIND_CAP + 1e-9).all()


def test_the_sign_of_t_is_the_one_with_the_points_before_the_camera(views):
    view = views(2, noise=0.1, baseline=1.0)
    y1, y2, precision = rays(view)
    truth = view.translation / np.linalg.norm(view.translation)
    ts = np.stack([truth, -truth])
    costs = rigid.rigid_costs(np.stack([view.rotation] * 2), ts, y1, y2, precision, CAP)
    assert np.allclose(ts, truth)
    assert np.allclose(costs[0], costs[1])


@pytest.mark.parametrize('points', [
    np.zeros((8, 2)), np.tile([0.3, -0.2], (8, 1)), np.linspace(0, 1, 8)[:, None] * [1.0, 2.0],
    np.full((8, 2), 1e3), np.linspace(-1e4, 1e4, 16).reshape(8, 2)])
def test_degenerate_points_give_finite_motions(points):
    points = np.ascontiguousarray(points)
    precision = np.full(8, 1e6)
    for shift in (0.0, 0.01):
        rotations, ts = rigid.fit_rigid_samples(points, points + shift, precision,
                                                np.arange(8)[None], CAP)
        costs = rigid.rigid_costs(rotations, ts, points, points + shift, precision, CAP)
        assert np.isfinite(rotations).all() and np.isfinite(ts).all()
        assert np.isfinite(costs).all() and (costs <= CAP).all()
