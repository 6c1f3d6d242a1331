# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.identity import MotionIdentities
from gdm_motion_seg.segmentation.stream import CARRIED, FOLLOWED, SEARCHED, StreamSegmenter
from gdm_motion_seg.segmentation.stream_config import StreamConfig

FOCAL, SIZE = 600.0, (640, 480)


def rotation(axis, angle):
    axis = np.asarray(axis) / np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def project(points):
    return points[:, :2] / points[:, 2:] * FOCAL + (320.0, 240.0)


def pair_at(step, outliers=0.0, movers=1):
    """Return a pair of views of a world and of bodies that move through it, and the truth."""
    rng = np.random.default_rng(7)
    world = rng.uniform((-3, -2, 4), (3, 2, 9), (150, 3))
    bodies = [rng.uniform((-0.7, -0.7, -0.7), (0.7, 0.7, 0.7), (50, 3)) for _ in range(movers)]
    rng = np.random.default_rng((7, step))
    x1, x2 = [project(world)], [project(world @ rotation((0, 1, 0), 0.01).T - (0.15, 0, 0.05))]
    for k, body in enumerate(bodies):
        at = np.array([1.2 - 2.4 * k, 0.5 * np.sin(step / 9 + k), 4.0])
        before = body @ rotation((1, k, 1), 0.05 * step).T + at
        after = body @ rotation((1, k, 1), 0.05 * step + 0.15).T + at + (0.1, 0.25, -0.1)
        x1.append(project(before))
        x2.append(project(after))
    x1, x2 = (np.concatenate(x) + rng.normal(0, 0.1, (150 + 50 * movers, 2)) for x in (x1, x2))
    wrong = rng.random(len(x1)) < outliers
    x2[wrong] = x1[wrong] + rng.uniform(-60, 60, (wrong.sum(), 2))
    truth = np.repeat(np.arange(movers + 1), [150] + [50] * movers)
    return Correspondences.from_arrays(x1, x2, SIZE), np.where(wrong, -1, truth)


class Stream:
    """Segmenter and identities as the pipeline joins them."""

    def __init__(self, **settings):
        """Make an empty stream."""
        config = StreamConfig(**settings)
        self.segmenter = StreamSegmenter(stream=config)
        self.identities = MotionIdentities(config)

    def __call__(self, pair, step):
        """Answer one pair."""
        answer = self.segmenter.segment(pair, self.identities, np.random.default_rng(step))
        return self.identities.identify(pair, answer)


def searched(answer):
    return answer.diagnostics['effort'] == SEARCHED


def test_only_the_first_pair_of_a_steady_stream_is_searched_in_full():
    stream = Stream(full_search_every=0)
    answers = [stream(pair_at(step)[0], step) for step in range(8)]
    assert [searched(a) for a in answers] == [True] + [False] * 7


def test_most_pairs_are_carried_and_every_few_followed():
    stream = Stream(full_search_every=0, follow_every=3)
    efforts = [stream(pair_at(step)[0], step).diagnostics['effort'] for step in range(9)]
    assert efforts == [SEARCHED, CARRIED, CARRIED, FOLLOWED] + [CARRIED, CARRIED, FOLLOWED,
                                                                CARRIED, CARRIED]


def test_a_partition_that_does_not_hold_is_not_carried():
    stream = Stream(full_search_every=0, follow_every=100)
    for step in range(4):
        stream(pair_at(step)[0], step)
    assert stream(pair_at(4, outliers=0.6)[0], 4).diagnostics['effort'] == FOLLOWED


def test_a_full_search_comes_at_least_once_in_so_many_pairs():
    stream = Stream(full_search_every=4)
    answers = [stream(pair_at(step)[0], step) for step in range(9)]
    assert [searched(a) for a in answers] == [True, False, False, False] * 2 + [True]


def test_without_warm_start_every_pair_is_searched_in_full():
    stream = Stream(warm_start=False)
    assert all(searched(stream(pair_at(step)[0], step)) for step in range(3))


def test_after_a_reset_the_next_pair_is_searched_in_full():
    stream = Stream(full_search_every=0)
    for step in range(3):
        stream(pair_at(step)[0], step)
    stream.segmenter.reset()
    assert searched(stream(pair_at(3)[0], 3))


def test_many_more_outliers_than_usual_call_for_a_full_search():
    stream = Stream(full_search_every=0, rest=0)
    for step in range(5):
        stream(pair_at(step)[0], step)
    stream(pair_at(5, outliers=0.4)[0], 5)
    assert searched(stream(pair_at(6, outliers=0.4)[0], 6))


def test_bad_answers_in_a_row_do_not_make_every_pair_a_full_search():
    stream = Stream(full_search_every=0, rest=4)
    shares = [0.0] * 6 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    answers = [stream(pair_at(s, outliers=share)[0], s) for s, share in enumerate(shares)]
    assert sum(map(searched, answers)) <= 3


@pytest.mark.parametrize('outliers', [0.0, 0.15], ids=['clean', 'with outliers'])
def test_a_stream_is_answered_as_rightly_as_single_pairs(outliers):
    stream = Stream()
    right = []
    for step in range(12):
        pair, truth = pair_at(step, outliers)
        answer = stream(pair, step)
        ids = np.append([m.id for m in answer.motions], -1)[answer.labels]
        right.append(np.mean(ids[truth >= 0] == truth[truth >= 0]))
    assert np.mean(right) > 0.97


def test_a_second_mover_is_found_and_the_first_keeps_its_id():
    stream = Stream(full_search_every=0)
    for step in range(6):
        stream(pair_at(step)[0], step)
    for step in range(6, 20):
        pair, truth = pair_at(step, movers=2)
        answer = stream(pair, step)
    ids = np.append([m.id for m in answer.motions], -1)[answer.labels]
    for body in range(3):
        assert np.bincount(ids[(truth == body) & (ids >= 0)]).argmax() == body
