# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The methods on easy scenes."""

import numpy as np
import pytest

from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg_tools.bench.methods.gdm import outlier_scores
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.methods.scc import polar_curvatures
from gdm_motion_seg_tools.bench.methods.ssc import sparse_representation
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.datasets.pair import LabelledPair
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene

PEERS = [name for name in METHODS if not name.startswith('gdm')]


def affine_pair(n_each=40, seed=0, noise=0.0):
    """Two groups under affine cameras: linear in R^4 and R^9 alike."""
    rng = np.random.default_rng(seed)
    x1, x2 = [], []
    for corner in ((60.0, 80.0), (380.0, 260.0)):
        depth = rng.uniform(-1, 1, (n_each, 3)) * [90, 90, 90]
        cameras = rng.normal(0, 0.25, (2, 3)) + np.eye(2, 3)
        x1.append(depth[:, :2] + corner)
        x2.append(depth @ cameras.T + corner + rng.uniform(-40, 40, 2))
    first, second = np.concatenate(x1), np.concatenate(x2)
    second = second + noise * rng.standard_normal(second.shape)
    return LabelledPair('affine', first, second, (640, 480), np.repeat([0, 1], n_each))


def method(name):
    """Return a method, where the package that it needs is installed."""
    if name == 'poselib':
        pytest.importorskip('poselib')
    if name.startswith(('scc', 'ssc', 'lrr')):
        pytest.importorskip('sklearn')
    return METHODS[name]


def roc_area(scores, outlier):
    """Return the share of pairs of an outlier and an inlier that are ranked correctly."""
    difference = scores[outlier][:, None] - scores[~outlier]
    return np.mean((difference > 0) + 0.5 * (difference == 0))


@pytest.mark.parametrize('name', [name for name in PEERS if 'linear' in name])
def test_subspace_methods_separate_two_affine_motions(name):
    pair = affine_pair()
    errors = [error_percent(method(name).segment(pair, 2, np.random.default_rng(seed)).labels,
                            pair.truth) for seed in range(3)]
    assert np.median(errors) <= 20.0


@pytest.mark.parametrize('name', ['magsac', 'poselib'])
def test_sequential_methods_find_one_motion_among_wrong_matches(name):
    pair = make_scene(Scene(n_points=120, n_motions=1, outliers=0.3), np.random.default_rng(1))
    for n_motions in (1, 0):
        answer = method(name).segment(pair, n_motions, np.random.default_rng(0))
        assert answer.n_motions == 1
        assert error_percent(answer.labels, pair.truth) < 12.0
        assert answer.fundamentals.shape == (1, 3, 3)


@pytest.mark.parametrize('name', ['magsac', 'poselib'])
@pytest.mark.parametrize('n_points', [0, 5, 7, 11])
def test_sequential_methods_label_too_few_points_as_outliers(name, n_points):
    points = np.random.default_rng(0).uniform(0, 400, (n_points, 2))
    pair = LabelledPair('few', points, points + 3.0, (640, 480), np.zeros(n_points, np.int64))
    answer = method(name).segment(pair, 1, np.random.default_rng(0))
    assert (answer.labels == -1).all()


def test_the_reference_which_uses_the_truth_is_nearly_right():
    pair = make_scene(Scene(outliers=0.3), np.random.default_rng(2))
    answer = METHODS['ref'].segment(pair, 3, np.random.default_rng(0))
    assert METHODS['ref'].uses_truth
    assert error_percent(answer.labels, pair.truth) < 8.0


@pytest.mark.parametrize('name', [name for name, m in METHODS.items() if m.default])
def test_the_same_seed_gives_the_same_answer(name):
    pair = make_scene(Scene(n_points=90, n_motions=2), np.random.default_rng(5))
    first, second = (method(name).segment(pair, 2, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)


def test_lrr_ranks_gross_outliers_first():
    pair = make_scene(Scene(n_points=120, n_motions=1, outliers=0.1), np.random.default_rng(3))
    answer = method('lrr-outliers').segment(pair, 1, np.random.default_rng(0))
    assert roc_area(answer.scores, pair.truth < 0) > 0.75


def test_points_that_are_labelled_as_outliers_rank_first():
    labels, residuals = np.array([0, -1, 0, -1]), np.array([2.0, 0.1, 0.5, np.inf])
    scores = outlier_scores(MotionSegmentation(labels, (), residuals))
    assert np.argsort(-scores).tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize('name', ['gdm-known-fraction', 'gdm-model-reassign'])
def test_the_paper_s_variants_rank_first_what_they_reject(name):
    pair = make_scene(Scene(n_points=80, n_motions=1, outliers=0.2), np.random.default_rng(3))
    answer = METHODS[name].segment(pair, 1, np.random.default_rng(0))
    rejected = answer.labels < 0
    assert rejected.any() and answer.scores[rejected].min() > answer.scores[~rejected].max()
    assert roc_area(answer.scores, pair.truth < 0) > 0.8
    assert answer.fundamentals.shape == (1, 3, 3)


def test_other_readings_of_the_paper_run_only_on_request_and_say_if_they_use_the_truth():
    readings = [m for name, m in METHODS.items() if name.startswith(('gdm-paper-', 'gdm-truth'))]
    assert len(readings) == 6 and not any(m.default for m in readings)
    assert {m.name for m in readings if m.uses_truth} == {'gdm-truth', 'gdm-truth-pixels'}


@pytest.mark.parametrize('name', ['gdm-paper', 'gdm-paper-growth', 'gdm-paper-axes', 'gdm-truth'])
def test_every_reading_separates_two_easy_motions(name):
    pair = make_scene(Scene(n_points=90, n_motions=2), np.random.default_rng(5))
    answer = METHODS[name].segment(pair, 2, np.random.default_rng(7))
    assert error_percent(answer.labels, pair.truth) <= 10.0


def test_polar_curvature_vanishes_on_a_flat_and_grows_off_it():
    rng = np.random.default_rng(0)
    flat = np.hstack([rng.uniform(-1, 1, (20, 2)), np.zeros((20, 1))])
    points = np.vstack([flat, [[0.1, 0.2, 1.0]]])
    curvatures = polar_curvatures(points, np.array([[0, 1, 2], [3, 4, 5]]))
    assert curvatures[:20].max() < 1e-9
    assert curvatures[20].min() > 1e-3


def test_sparse_coefficients_sum_to_one_and_never_use_the_point_itself():
    points = np.random.default_rng(0).uniform(0, 100, (4, 25))
    c = sparse_representation(points, 0.1)
    assert np.abs(np.diag(c)).max() == 0.0
    np.testing.assert_allclose(c.sum(axis=0), 1.0, atol=5e-3)
