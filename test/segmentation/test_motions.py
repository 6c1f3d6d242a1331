# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Residuals have one definition, in streams and in single pairs."""

import numpy as np
import pytest
from windows import CAMERA, patch_points, window_of, world_points

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.geometry.motion import motion_distances
from gdm_motion_seg.segmentation.motions import estimate_motions
from gdm_motion_seg.segmentation.result import OUTLIER
from gdm_motion_seg.segmentation.segment import segment_motions
from gdm_motion_seg.segmentation.world import GapWorld

WRONG = 10


def pair_and_labels():
    """Return a world, a deep body, a flat one, a tiny one, and wrong matches."""
    rng = np.random.default_rng(0)
    window, labels = window_of([
        (world_points(200, rng), (0.3, 0.0, -0.5)),
        (patch_points(60, rng, (150, 150), relief=2.0), (-0.8, 0.2, 0.3)),
        (patch_points(60, rng, (450, 150), relief=0.0), (0.5, 0.9, 0.0)),
        (patch_points(5, rng, (450, 400), side=20), (0.9, -0.5, 0.0))], rng)
    pair = window.pair
    older = pair.x1.copy()
    labels[:WRONG], older[:WRONG] = OUTLIER, rng.uniform(0, 470, (WRONG, 2))
    return Correspondences.from_arrays(older, pair.x2, pair.image_size), labels


def stream_result(smooth_share):
    """Return the motions of known labels, as in a stream."""
    pair, labels = pair_and_labels()
    world = GapWorld(np.zeros(8), np.vstack([np.eye(3), [0.0, 0.0, 1.0]]), smooth_share)
    return pair, estimate_motions(pair, labels, np.zeros(len(pair)), world, CAMERA, lambda _: 0)


def pair_result():
    """Return the motions of a single pair."""
    pair, _ = pair_and_labels()
    return pair, segment_motions(pair.x1, pair.x2, pair.image_size, rng=0)


RESULTS = pytest.mark.parametrize('make', [
    lambda: stream_result(0.0), lambda: stream_result(1.0), pair_result],
    ids=['stream', 'stream without parallax', 'pair'])


@RESULTS
def test_the_residual_of_a_motion_is_the_median_of_those_of_its_tracks(make):
    _, answer = make()
    assert answer.n_motions >= 3
    for motion in answer.motions:
        # A motion without a rigid geometry has no distances.
        if motion.kind is not MotionKind.NON_RIGID:
            assert motion.residual == np.median(answer.residuals[motion.members]), motion.kind


@RESULTS
def test_the_residual_of_a_wrong_match_is_its_distance_from_the_nearest_motion(make):
    pair, answer = make()
    wrong = np.flatnonzero(answer.labels == OUTLIER)
    assert len(wrong) >= 2
    nearest = np.min([motion_distances(motion, pair.take(wrong)) for motion in answer.motions],
                     axis=0)
    assert np.isfinite(nearest).all()
    np.testing.assert_array_equal(answer.residuals[wrong], nearest)
