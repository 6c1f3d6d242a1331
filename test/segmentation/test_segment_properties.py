# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Properties of the segmentation of arbitrary correspondences."""

from hypothesis import given, HealthCheck, settings, strategies as st
import numpy as np

from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.segment import segment_motions


def examples(count):
    """Run the same few examples every time."""
    return settings(max_examples=count, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))


COORDINATE = st.one_of(st.integers(0, 9).map(float), st.floats(-100.0, 800.0),
                       st.floats(-1e6, 1e6), st.sampled_from((0.0, 1e-300, 640.0, 1e6)))
POINT = st.tuples(COORDINATE, COORDINATE, COORDINATE, COORDINATE)
POINTS = st.one_of(st.lists(POINT, max_size=8), st.lists(POINT, min_size=8, max_size=30))
CONFIGS = st.builds(SegmentationConfig, n_motions=st.integers(0, 3))


@examples(25)
@given(points=POINTS, config=CONFIGS)
def test_a_result_is_a_partition_or_has_a_reason(points, config):
    x = np.array(points, float).reshape(-1, 4)
    answer = segment_motions(x[:, :2], x[:, 2:], (640, 480), config, rng=0)
    assert answer.labels.shape == (len(x),)
    assert not np.isnan(answer.residuals).any()
    assert answer.n_motions or answer.reason
    assert answer.n_motions <= (config.n_motions or 6)
    members = np.concatenate([m.members for m in answer.motions]) if answer.motions else []
    assert sorted(members) == np.flatnonzero(answer.labels >= 0).tolist()


@examples(5)
@given(seed=st.integers(0, 1000), order=st.randoms(use_true_random=False))
def test_the_order_of_the_points_does_not_change_the_number_of_motions(seed, order):
    rng = np.random.default_rng(seed)
    x1 = rng.uniform(0, 400, (16, 2))
    x2 = x1 + rng.normal(0, 0.1, (16, 2)) + [4.0, 1.0]
    shuffled = list(range(16))
    order.shuffle(shuffled)
    one = segment_motions(x1, x2, (640, 480), rng=0)
    other = segment_motions(x1[shuffled], x2[shuffled], (640, 480), rng=0)
    assert one.n_motions == other.n_motions
