# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Normalisation and embedding: orders, invariances, subspaces."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import (
    embed, kronecker_embedding, normalize_image_points, pixel_unit)

SEEDS = st.integers(0, 2 ** 32 - 1)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_embedding_times_f_in_row_order_is_the_epipolar_constraint(seed):
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


def test_image_normalisation_maps_the_edges_to_minus_one_and_one():
    corners = np.array([[0.0, 0.0], [640.0, 480.0], [320.0, 240.0]])
    found = normalize_image_points(corners, (640, 480))
    np.testing.assert_allclose(found, [[-1, -0.75], [1, 0.75], [0, 0]])


def test_the_pixel_unit_grows_with_the_longer_side():
    assert pixel_unit((640, 480)) == pixel_unit((480, 640)) == 1.0
    assert pixel_unit((1920, 1080)) == 3.0
