# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The steps of the rival methods do what their papers say."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg_tools.bench.command import chosen_methods
from gdm_motion_seg_tools.bench.methods import hosc, mapa, ras, slbf
from gdm_motion_seg_tools.bench.methods.flats import (
    fit_flat, nearest_neighbours, spectra_by_scale)
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.metrics import error_percent
from gdm_motion_seg_tools.datasets.pair import LabelledPair
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene


def plane(rng, n, dimension, ambient, noise=0.0):
    """Draw points from a random flat."""
    basis = np.linalg.qr(rng.normal(size=(ambient, dimension)))[0]
    points = rng.uniform(-1, 1, (n, dimension)) @ basis.T + rng.normal(size=ambient)
    return points + noise * rng.normal(size=points.shape)


def two_motions(seed=0, n_each=60):
    """Two rigid motions that are far apart in the image, without noise."""
    return make_scene(Scene(n_points=2 * n_each, n_motions=2, noise=0.0),
                      np.random.default_rng(seed))


def test_a_flat_measures_distances_from_itself():
    rng = np.random.default_rng(0)
    points = plane(rng, 30, 2, 5)
    flat = fit_flat(points, 2)
    assert flat.squared_distances(points).max() < 1e-12
    normal = np.linalg.svd(flat.axes)[2][-1]
    assert flat.squared_distances(points + 0.3 * normal) == pytest.approx(0.09)


def test_neighbourhoods_begin_with_the_point_itself_and_their_spectra_are_those_of_numpy():
    points = np.random.default_rng(1).normal(size=(40, 3)) + 1000.0
    order, distances = nearest_neighbours(points, np.array([3, 7]), 25)
    assert order[:, 0].tolist() == [3, 7] and (np.diff(distances, axis=1) >= 0).all()
    sizes = np.array([5, 12, 25])
    spectra = spectra_by_scale(points, order, sizes)
    for s in range(2):
        for k, size in enumerate(sizes):
            covariance = np.cov(points[order[s, :size]].T, bias=True)
            np.testing.assert_allclose(spectra[s, k], np.linalg.eigvalsh(covariance)[::-1])


@pytest.mark.parametrize('dimension', (1, 2, 3))
def test_mapa_finds_the_dimension_of_a_noisy_flat(dimension):
    points = plane(np.random.default_rng(2), 400, dimension, 6, noise=0.02)
    regions, dimensions, kept = mapa.good_neighbourhoods(points, np.arange(0, 400, 20))
    assert len(regions) == len(kept) >= 15
    assert np.median(dimensions) == dimension


def test_slbf_takes_the_neighbourhood_that_ends_where_the_other_flat_begins():
    rng = np.random.default_rng(3)
    near, far = plane(rng, 60, 2, 5, noise=1e-3), plane(rng, 60, 2, 5, noise=1e-3) + 20.0
    regions = slbf.best_neighbourhoods(np.vstack([near, far]), 2)
    assert np.mean([(region < 60).all() or (region >= 60).all() for region in regions]) > 0.9


def test_hosc_sees_no_residual_in_points_of_one_flat():
    rng = np.random.default_rng(4)
    points = np.vstack([plane(rng, 4, 2, 4), rng.normal(size=(4, 4))])
    residuals = hosc.flat_residuals(points, np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), 2)
    assert residuals[0] < 1e-12 < 1e-3 < residuals[1]


def test_the_derivatives_of_ras_are_those_of_finite_differences():
    rng = np.random.default_rng(5)
    exponents = ras.monomials(2)
    coefficients, z, step = rng.normal(size=len(exponents)), rng.normal(size=(3, 5)), 1e-5
    gradients, hessians = ras.derivatives(z, exponents, coefficients)
    for a in range(5):
        shift = step * np.eye(5)[a]
        up, down = (ras._powers(z + sign * shift, exponents) @ coefficients for sign in (1, -1))
        np.testing.assert_allclose(gradients[:, a], (up - down) / (2 * step), rtol=1e-5,
                                   atol=1e-6)
        above, below = (ras.derivatives(z + sign * shift, exponents, coefficients)[0]
                        for sign in (1, -1))
        np.testing.assert_allclose(hessians[:, a], (above - below) / (2 * step), rtol=1e-5,
                                   atol=1e-5)


def test_ras_counts_the_monomials_of_the_multibody_epipolar_constraint():
    assert [len(ras.monomials(k)) for k in (1, 2, 3)] == [9, 36, 100]


def test_mutual_contractions_are_parallel_within_a_motion_and_not_across():
    pair = two_motions()
    z, exponents = ras.joint_samples(pair), ras.monomials(2)
    coefficients = ras.fit_polynomial(z, exponents)
    angles = ras.contraction_angles(*ras.derivatives(z, exponents, coefficients))
    same = pair.truth[:, None] == pair.truth
    off = ~np.eye(len(pair), dtype=bool)
    assert np.median(angles[same & off]) < 0.01 < 0.1 < np.median(angles[~same])


def test_ras_separates_two_motions_without_noise():
    pair = two_motions(1)
    answer = METHODS['ras'].segment(pair, 2, np.random.default_rng(0))
    assert error_percent(answer.labels, pair.truth) < 5.0


@pytest.mark.parametrize('name', ['hosc-2', 'slbf-linear', 'slbf-ms', 'mapa-linear', 'ras'])
def test_a_rival_separates_bodies_that_are_far_apart(name):
    pytest.importorskip('sklearn')
    rng = np.random.default_rng(6)
    first = np.vstack([rng.uniform(20, 200, (40, 2)), rng.uniform(400, 600, (40, 2))])
    moved = first + np.where(np.arange(80)[:, None] < 40, [12.0, 3.0], [-9.0, 14.0])
    moved += 0.05 * (first - first.mean(axis=0)) * rng.uniform(0.9, 1.1, (80, 1))
    pair = LabelledPair('apart', first, moved, (640, 640), np.repeat([0, 1], 40))
    answer = METHODS[name].segment(pair, 2, np.random.default_rng(0))
    assert error_percent(answer.labels, pair.truth) <= 10.0


@pytest.mark.parametrize('name', ['ras-outliers', 'hosc-outliers'])
def test_rivals_with_outlier_rejection_reject_more_outliers_than_inliers(name):
    pytest.importorskip('sklearn')
    pair = make_scene(Scene(n_points=120, n_motions=1, outliers=0.2), np.random.default_rng(3))
    answer = METHODS[name].segment(pair, 1, np.random.default_rng(0))
    said = answer.labels < 0
    assert said[pair.truth < 0].mean() > said[pair.truth >= 0].mean() + 0.2
    assert answer.scores.shape == (len(pair),)


def binding(matrices, labels):
    """Return a replacement for the Python binding of Progressive-X."""
    return SimpleNamespace(findTwoViewMotions=lambda *_, **__: (matrices, labels))


def test_progressive_x_is_used_where_it_is_installed(monkeypatch):
    pair = two_motions(2, 20)
    matrices = np.arange(18.0).reshape(6, 3)
    labels = np.where(np.arange(40) < 35, pair.truth, 2)
    monkeypatch.setitem(sys.modules, 'pyprogressivex', binding(matrices, labels))
    answer = METHODS['progressive-x'].segment(pair, 0, np.random.default_rng(0))
    assert (answer.labels[35:] == -1).all() and answer.n_motions == 2
    assert answer.fundamentals.shape == (2, 3, 3)


def test_the_constant_arrays_that_its_binding_gives_with_numpy_2_are_refused(monkeypatch):
    constant = binding(np.zeros((6, 3)), np.zeros(40, int))
    monkeypatch.setitem(sys.modules, 'pyprogressivex', constant)
    with pytest.raises(MissingDependencyError, match='numpy 2'):
        METHODS['progressive-x'].segment(two_motions(2, 20), 2, np.random.default_rng(0))


def test_without_progressive_x_all_methods_are_all_others(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyprogressivex', None)
    with pytest.raises(MissingDependencyError, match='pyprogressivex'):
        METHODS['progressive-x'].segment(two_motions(2, 20), 2, np.random.default_rng(0))
    assert set(METHODS) - set(chosen_methods('all')) == {'progressive-x'}
