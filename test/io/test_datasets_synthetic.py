# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Synthetic correspondences satisfy their motions."""

import numpy as np
import pytest

from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg_tools.datasets.synthetic import (
    make_scene, motion_sizes, read_synthetic, Scene, SWEEPS)


def scene(seed=0, **changes):
    return make_scene(Scene(**changes), np.random.default_rng(seed))


@pytest.mark.parametrize('seed', range(4))
def test_every_point_obeys_the_f_of_its_motion(seed):
    pair = scene(seed, n_motions=4, outliers=0.3)
    for k, f in enumerate(pair.fundamentals):
        members = pair.truth == k
        exact = [view[members] for view in pair.clean]
        assert sampson_distances(f, *exact).max() < 1e-6
        noisy = sampson_distances(f, pair.x1[members], pair.x2[members])
        assert 0.15 < np.median(noisy) < 0.6, 'half a pixel of noise'


def test_sizes_fall_from_largest_to_smallest_by_the_ratio():
    counts = motion_sizes(300, 3, 20.0)
    assert counts.sum() == 300
    assert 17 < counts[0] / counts[-1] < 24
    assert (np.diff(counts) < 0).all()


def test_the_share_of_outliers_is_of_all_points():
    pair = scene(outliers=0.6)
    assert np.mean(pair.truth == -1) == pytest.approx(0.6, abs=0.01)


def test_a_sweep_changes_one_property_only():
    clean, dirty = scene(3), scene(3, outliers=0.5)
    np.testing.assert_array_equal(clean.x1, dirty.x1[dirty.truth >= 0])


def test_motions_that_do_not_determine_f_say_so():
    flat, turning = scene(planes=1), scene(pure_rotation=True)
    assert np.isnan(flat.fundamentals[2]).all()
    assert np.isfinite(flat.fundamentals[:2]).all()
    assert np.isnan(turning.fundamentals[0]).all()


@pytest.mark.parametrize('changes, motion', [({'planes': 2}, 1), ({'pure_rotation': True}, 0)])
def test_degenerate_motions_are_homographies(changes, motion):
    pair = scene(**changes)
    x1, x2 = (view[pair.truth == motion] for view in pair.clean)
    one, zero = np.ones((len(x1), 1)), np.zeros((len(x1), 3))
    h1 = np.hstack([x1, one]) / 300.0
    rows = np.vstack([np.hstack([h1, zero, -x2[:, :1] / 300.0 * h1]),
                      np.hstack([zero, h1, -x2[:, 1:] / 300.0 * h1])])
    values = np.linalg.svd(rows, compute_uv=False)
    assert values[-1] < 1e-9 * values[0] < values[-2]


def test_the_data_set_is_the_same_each_time_and_holds_every_step():
    first, second = list(read_synthetic(scenes=1)), list(read_synthetic(scenes=1))
    assert len(first) == sum(len(steps) for steps in SWEEPS.values())
    for a, b in zip(first, second):
        assert a.name == b.name
        np.testing.assert_array_equal(a.x2, b.x2)
