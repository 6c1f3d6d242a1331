# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The geometry of a motion, estimated from its members."""

from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.geometry.motion import estimate_motion, inlier_threshold
from gdm_motion_seg_tools.bench.fundamentals import fit_fundamental, refine_fundamental

PIXELS = st.floats(-1e6, 1e6, allow_nan=False, width=64)


def motion_of(v, members=None, **options):
    c = Correspondences.from_arrays(v.x1, v.x2, v.image_size)
    return estimate_motion(c, np.arange(len(c)) if members is None else members, 0, **options)


def median_error(f, v):
    """Return the distance of the true points from an estimate."""
    return np.median(sampson_distances(f, v.clean1, v.clean2))


def angle(a, b):
    return np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))


@pytest.mark.parametrize('wrong', [0, 5, 15])
def test_f_with_wrong_members_is_within_a_fifth_of_f_fitted_to_the_true_ones(views, wrong):
    with_wrong, reference = [], []
    for seed in range(30):
        v = views(seed, n=100, noise=0.5)
        x1, x2 = v.x1[wrong:], v.x2[wrong:]
        true = refine_fundamental(fit_fundamental(x1, x2), x1, x2)
        reference.append(median_error(true, v))
        v.x2[:wrong] += np.random.default_rng(seed).uniform(-40, 40, (wrong, 2))
        with_wrong.append(median_error(motion_of(v).fundamental, v))
    assert np.median(with_wrong) < 1.2 * np.median(reference)


def test_a_general_motion_has_f_pose_residual_and_threshold(views):
    v = views(0, n=200, noise=0.5, baseline=1.0)
    camera = Camera.from_info(v.camera_matrix, [], '', v.image_size)
    motion = motion_of(v, camera=camera)
    assert motion.kind is MotionKind.GENERAL
    assert motion.fundamental_is_unique
    assert np.linalg.norm(motion.fundamental) == pytest.approx(1.0)
    assert np.linalg.svd(motion.fundamental, compute_uv=False)[2] < 1e-12
    assert np.isnan(motion.homography).all()
    assert angle(motion.translation, v.translation) < 2.0
    np.testing.assert_allclose(motion.rotation, v.rotation, atol=0.01)
    assert motion.residual == pytest.approx(0.5 * 0.6745, rel=0.2)
    assert motion.threshold == pytest.approx(3 * 0.5, rel=0.2)
    assert 5.0 < motion.dimension < 9.0


def test_points_that_are_not_members_have_no_effect(views):
    v = views(1, n=60, noise=0.0)
    v.x2[40:] = 0.0
    motion = motion_of(v, np.arange(40))
    assert motion.count == 40
    assert motion.residual < 1e-4


def test_a_rotation_has_a_rotation_and_no_translation(views):
    motion = motion_of(views(2, scene='rotation'))
    assert motion.kind is MotionKind.NO_PARALLAX
    assert np.isfinite(motion.rotation).all()
    assert np.isnan(motion.translation).all()
    assert np.isfinite(motion.homography).all()
    assert np.isfinite(motion.fundamental).all()


def test_a_plane_has_a_homography_and_no_pose(views):
    motion = motion_of(views(2, scene='plane'))
    assert motion.kind is MotionKind.PLANAR
    assert np.isfinite(motion.homography).all()
    assert np.isnan(motion.rotation).all()
    assert not motion.fundamental_is_unique


@pytest.mark.parametrize('n', [0, 1, 4, 7])
def test_too_few_points_have_a_reason_and_no_f(views, n):
    motion = motion_of(views(0, n=10), np.arange(n))
    assert motion.kind is MotionKind.TOO_FEW
    assert motion.reason.startswith(f'{n} points')
    assert np.isnan(motion.fundamental).all()
    assert np.isfinite(motion.threshold)
    assert np.isfinite(motion.dimension)
    assert np.isfinite(motion.residual) == (n >= 4)


def test_the_threshold_lies_between_two_limits_that_grow_with_the_image():
    for unit in (1.0, 3.0):
        assert inlier_threshold(np.zeros(1000), unit) == 0.5 * unit
        assert inlier_threshold(np.full(1000, 1e3), unit) == 6.0 * unit
    noise = np.abs(np.random.default_rng(0).normal(0, 0.8, 5000))
    assert inlier_threshold(noise, 1.0) == pytest.approx(2.4, rel=0.05)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 25).flatmap(
    lambda n: st.tuples(arrays(np.float64, (n, 2), elements=PIXELS),
                        arrays(np.float64, (n, 2), elements=PIXELS))))
def test_any_finite_points_give_a_motion(points):
    c = Correspondences.from_arrays(*points, (640, 480))
    motion = estimate_motion(c, np.arange(len(c)), 3)
    assert motion.id == 3
    assert motion.reason
    assert np.isfinite(motion.dimension)
    assert np.isfinite(motion.threshold)
    assert not np.isnan(motion.residual)
    assert np.isnan(motion.fundamental).all() == (motion.kind is MotionKind.TOO_FEW)
    if motion.kind is MotionKind.GENERAL:
        assert np.isfinite(motion.rotation).all()
        assert np.isfinite(motion.translation).all()
    if motion.kind in (MotionKind.PLANAR, MotionKind.NO_PARALLAX):
        assert np.isfinite(motion.homography).all()


def test_the_same_points_give_the_same_motion(views):
    v = views(0, noise=3.0)
    first, second = motion_of(v), motion_of(v)
    np.testing.assert_array_equal(first.fundamental, second.fundamental)
    assert first.reason == second.reason
