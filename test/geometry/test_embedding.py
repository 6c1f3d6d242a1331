# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Normalisation and embedding: orders, invariances, subspaces."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from gdm_motion_seg.geometry import (
    Correspondences, embed, hartley_transform, image_transform, kronecker_embedding,
    linear_embedding, normalize_image_points, pixel_unit)

SEEDS = st.integers(0, 2 ** 32 - 1)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_embedding_times_f_read_by_rows_is_the_epipolar_constraint(seed):
    rng = np.random.default_rng(seed)
    x1, x2, f = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(3, 3))
    one = np.ones((5, 1))
    expected = np.einsum('ni,ij,nj->n', np.hstack((x2, one)), f, np.hstack((x1, one)))
    np.testing.assert_allclose(kronecker_embedding(x1, x2) @ f.ravel(), expected)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_embedding_is_the_kronecker_product_of_the_homogeneous_points(seed):
    x1, x2 = np.random.default_rng(seed).normal(size=(2, 2))
    np.testing.assert_allclose(kronecker_embedding(x1, x2),
                               np.kron(np.append(x2, 1.0), np.append(x1, 1.0)))


@pytest.mark.parametrize('scene, rank', [('general', 8), ('plane', 6), ('rotation', 6)])
def test_a_rigid_motion_spans_the_dimension_that_the_paper_gives(views, scene, rank):
    v = views(0, noise=0.0, scene=scene)
    vectors = embed(Correspondences.from_arrays(v.x1, v.x2, v.image_size))
    s = np.linalg.svd(vectors, compute_uv=False)
    assert s[rank - 1] > 1e-6 * s[0]
    assert s[rank] < 1e-10 * s[0]


def test_embeddings_take_batches():
    x1, x2 = np.random.default_rng(0).normal(size=(2, 4, 7, 2))
    assert kronecker_embedding(x1, x2).shape == (4, 7, 9)
    assert linear_embedding(x1, x2).shape == (4, 7, 4)
    np.testing.assert_array_equal(linear_embedding(x1, x2)[1, 2, 2:], x2[1, 2])


def test_image_normalisation_maps_the_edges_to_minus_one_and_one():
    corners = np.array([[0.0, 0.0], [640.0, 480.0], [320.0, 240.0]])
    found = normalize_image_points(corners, (640, 480))
    np.testing.assert_allclose(found, [[-1, -0.75], [1, 0.75], [0, 0]])
    mapped = np.column_stack((corners, np.ones(3))) @ image_transform((640, 480)).T
    np.testing.assert_allclose(mapped[:, :2], found)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.floats(-6, 6), st.floats(-1e6, 1e6))
def test_hartley_normalisation_centres_points_and_brings_their_mean_square_to_two(
        seed, magnitude, offset):
    rng = np.random.default_rng(seed)
    points = 10.0 ** magnitude * rng.normal(size=(12, 2)) + offset
    weights = rng.uniform(0.1, 1.0, 12)
    if np.ptp(points) < 1e-6 * max(abs(offset), 1e-30):
        return
    mapped = (np.column_stack((points, np.ones(12))) @ hartley_transform(points, weights).T)[:, :2]
    np.testing.assert_allclose(weights @ mapped / weights.sum(), 0, atol=1e-6)
    np.testing.assert_allclose(weights @ (mapped ** 2).sum(axis=1) / weights.sum(), 2, rtol=1e-6)


def test_hartley_normalisation_of_a_single_place_only_shifts():
    points = np.full((5, 2), 3.0)
    np.testing.assert_allclose(hartley_transform(points), [[1, 0, -3], [0, 1, -3], [0, 0, 1]])
    np.testing.assert_allclose(hartley_transform(points, np.zeros(5)), np.eye(3))


def test_the_pixel_unit_grows_with_the_longer_side():
    assert pixel_unit((640, 480)) == pixel_unit((480, 640)) == 1.0
    assert pixel_unit((1920, 1080)) == 3.0
