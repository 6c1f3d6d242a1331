# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``segment_motions``: right labels, refused inputs, reasons."""

import numpy as np
import pytest

import gdm_motion_seg
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.geometry.fundamental import sampson_distances
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.segment import segment_motions

SIZE = (640, 480)
VARIANTS = ('gdm-paper', 'gdm-naive', 'gdm-known-fraction', 'gdm-model-reassign')


def segment(pair, rng=0, **settings):
    """Segment a labelled pair."""
    return segment_motions(pair.x1, pair.x2, pair.image_size, SegmentationConfig(**settings),
                           rng=rng)


def random_points(n, seed=0, low=0.0, high=400.0):
    """Return random points."""
    return np.random.default_rng(seed).uniform(low, high, (n, 2))


def check(answer, n):
    """Check what every result must satisfy."""
    assert answer.labels.shape == answer.residuals.shape == (n,)
    assert answer.labels.min(initial=0) >= -1
    assert answer.labels.max(initial=-1) < answer.n_motions
    assert not np.isnan(answer.residuals).any()
    assert answer.reason or answer.n_motions
    for k, motion in enumerate(answer.motions):
        assert motion.id == k
        assert (motion.members == np.flatnonzero(answer.labels == k)).all()
        assert motion.reason


@pytest.mark.parametrize('n_motions', [2, 3])
@pytest.mark.parametrize('seed', [0, 1])
def test_the_labels_of_exact_scenes_are_right(pair_of, right, n_motions, seed):
    pair = pair_of(n_motions, seed, noise=0.1)
    answer = segment(pair, n_motions=n_motions)
    check(answer, len(pair))
    assert right(answer.labels, pair.truth) > 0.97


@pytest.mark.parametrize('n_motions', [2, 3])
def test_the_labels_are_right_among_outliers(pair_of, right, n_motions):
    pair = pair_of(n_motions, 0, n_points=200, outliers=0.3)
    answer = segment(pair, n_motions=n_motions)
    check(answer, len(pair))
    assert right(answer.labels, pair.truth) > 0.9


@pytest.mark.parametrize('n_motions', [1, 2, 3])
def test_the_number_of_motions_is_found(pair_of, right, n_motions):
    pair = pair_of(n_motions, 0, n_points=200, outliers=0.1)
    answer = segment(pair)
    assert answer.n_motions == n_motions
    assert right(answer.labels, pair.truth) > 0.9


def test_a_match_far_from_the_epipolar_line_of_its_neighbours_is_an_outlier(pair_of):
    pair = pair_of(1, 0, n_points=200)
    fundamental = segment(pair).motions[0].fundamental
    lines = fundamental @ np.append(pair.x1[::20], np.ones((10, 1)), axis=1).T
    pair.x2[::20] += 7.0 * (lines[:2] / np.linalg.norm(lines[:2], axis=0)).T
    wrong = np.zeros(200, bool)
    wrong[::20] = True
    labels = segment(pair).labels
    assert (labels[wrong] == -1).all()
    assert (labels[~wrong] == 0).mean() > 0.98


def test_motions_are_sorted_by_size_and_have_the_geometry_of_their_points(pair_of):
    pair = pair_of(2, 0, ratio=3.0)
    answer = segment(pair, n_motions=2)
    counts = [motion.count for motion in answer.motions]
    assert counts == sorted(counts, reverse=True)
    for motion in answer.motions:
        own = sampson_distances(motion.fundamental, pair.x1[motion.members],
                                pair.x2[motion.members])
        assert np.median(own) < 1.0


def test_the_same_seed_gives_the_same_answer(pair_of):
    pair = pair_of(2, 0, n_points=80, outliers=0.2)
    one, other = segment(pair, rng=5), segment(pair, rng=np.random.default_rng(5))
    assert (one.labels == other.labels).all()
    assert one.diagnostics['energy'] == other.diagnostics['energy']
    assert all((a.fundamental == b.fundamental).all()
               for a, b in zip(one.motions, other.motions))


def test_the_inputs_are_not_changed(pair_of):
    pair = pair_of(2)
    x1, x2 = pair.x1.copy(), pair.x2.copy()
    segment(pair)
    assert (pair.x1 == x1).all() and (pair.x2 == x2).all()


@pytest.mark.parametrize('kind', [np.float32, np.float64, list])
def test_arrays_of_any_number_type_are_accepted(pair_of, kind):
    pair = pair_of(2)
    x1, x2 = ((x.tolist() if kind is list else x.astype(kind)) for x in (pair.x1, pair.x2))
    assert segment_motions(x1, x2, SIZE, rng=0).n_motions == 2


@pytest.mark.parametrize('method', VARIANTS)
def test_every_variant_of_the_paper_gives_a_result(pair_of, method):
    pair = pair_of(2, 0, n_points=80, noise=0.2)
    # At the paper's price of 0.01, so few points would all become outliers.
    gdm = GdmConfig(n1=2, alpha=1.0)
    answer = segment(pair, method=method, n_motions=2, gdm=gdm)
    check(answer, len(pair))
    assert answer.n_motions == 2
    again = segment(pair, method=method, n_motions=2, gdm=gdm)
    assert (answer.labels == again.labels).all()


def test_a_price_at_which_all_points_are_outliers_gives_a_reason(pair_of):
    pair = pair_of(2, 0, n_points=80, noise=0.2)
    answer = segment(pair, method='gdm-naive', n_motions=2, gdm=GdmConfig(n1=2, alpha=0.0))
    check(answer, len(pair))
    assert answer.n_motions == 0 and answer.reason


@pytest.mark.parametrize('method', VARIANTS)
def test_a_variant_of_the_paper_needs_the_number_of_motions(pair_of, method):
    with pytest.raises(InputError, match='n_motions must be given'):
        segment(pair_of(2), method=method)


def bad(values):
    """Return points with one bad value."""
    points = random_points(20)
    points[7, 1] = values
    return points


@pytest.mark.parametrize('x1, x2, size, sentence', [
    (random_points(20), random_points(19), SIZE, 'same length, got 20 and 19'),
    (np.zeros((20, 3)), np.zeros((20, 3)), SIZE, 'x1 must have the shape'),
    (np.zeros(20), np.zeros(20), SIZE, 'x1 must have the shape'),
    (bad(np.nan), random_points(20), SIZE, r'x1 must be finite, but x1\[7\]'),
    (random_points(20), bad(np.inf), SIZE, r'x2 must be finite, but x2\[7\]'),
    ('hello', random_points(20), SIZE, 'x1 must be an array of numbers'),
    (random_points(20), random_points(20), (0, 480), 'image_size must be positive'),
    (random_points(20), random_points(20), (640, -1), 'image_size must be positive'),
    (random_points(20), random_points(20), 640, 'image_size must be'),
], ids=['lengths', 'columns', 'one dimension', 'NaN', 'infinite', 'text', 'width zero',
        'height negative', 'no size'])
def test_an_invalid_input_is_refused_with_one_sentence_that_names_it(x1, x2, size, sentence):
    with pytest.raises(InputError, match=sentence):
        segment_motions(x1, x2, size)


@pytest.mark.parametrize('n', [0, 1, 7])
def test_fewer_than_eight_points_give_a_reason(n):
    answer = segment_motions(random_points(n), random_points(n), SIZE)
    check(answer, n)
    assert answer.n_motions == 0 and 'too few' in answer.reason


def test_more_motions_than_the_points_allow_give_a_reason():
    answer = segment_motions(random_points(20), random_points(20), SIZE,
                             SegmentationConfig(n_motions=3))
    check(answer, 20)
    assert answer.n_motions == 0 and '20 points allow 2' in answer.reason


def test_equal_points_give_a_reason():
    points = np.full((30, 2), 100.0)
    answer = segment_motions(points, points, SIZE)
    check(answer, 30)
    assert answer.n_motions == 0 and 'same place' in answer.reason


@pytest.mark.parametrize('n, seed', [(8, 0), (40, 1), (150, 2)])
def test_outliers_alone_give_no_motion_and_a_reason(n, seed):
    answer = segment_motions(random_points(n, seed, 0, 480), random_points(n, seed + 50, 0, 480),
                             SIZE, rng=0)
    check(answer, n)
    assert answer.n_motions == 0 and 'chance' in answer.reason
    assert (answer.labels == -1).all()


def test_points_outside_the_image_are_allowed(pair_of, right):
    pair = pair_of(2, 0, noise=0.1)
    answer = segment_motions(pair.x1 + 900.0, pair.x2 + 900.0, SIZE, rng=0)
    check(answer, len(pair))
    assert answer.n_motions >= 1


def line(n=40):
    """Return points on a line."""
    return np.linspace(10, 400, n)[:, None] * [1.0, 0.5]


@pytest.mark.parametrize('method', ('gdm', *VARIANTS))
@pytest.mark.parametrize('x1, x2', [
    (random_points(40, 0, -1e6, 1e6), random_points(40, 1, -1e6, 1e6)),
    (random_points(40, 0, -1e6, 1e6), random_points(40, 0, -1e6, 1e6) + 5.0),
    (line(), line() + 3.0), (line(), line()), (line(), 1.1 * line()),
    (np.repeat(random_points(5), 8, axis=0), np.repeat(random_points(5), 8, axis=0) + 2.0),
    (random_points(40), random_points(40)),
    (random_points(40), np.full((40, 2), 100.0)),
], ids=['a million pixels', 'a million pixels, moved', 'a line', 'a line that stands',
        'a line along itself', 'duplicates', 'nothing moves', 'all to one place'])
def test_degenerate_geometry_gives_finite_results(x1, x2, method):
    config = SegmentationConfig(method=method, n_motions=0 if method == 'gdm' else 2,
                                gdm=GdmConfig(n1=1))
    answer = segment_motions(x1, x2, SIZE, config, rng=0)
    check(answer, len(x1))


def test_a_time_budget_ends_the_search_and_says_so(pair_of):
    pair = pair_of(3, 0, n_points=400, outliers=0.2)
    answer = segment(pair, time_budget_ms=1.0)
    check(answer, len(pair))
    assert not answer.complete and 'time budget' in answer.reason
    assert segment(pair_of(2, n_points=60)).complete


def test_many_motions_can_be_requested(pair_of):
    pair = pair_of(5, 0, n_points=250)
    answer = segment(pair, n_motions=5)
    check(answer, len(pair))
    assert 1 <= answer.n_motions <= 5


def test_it_can_be_imported_from_the_package():
    assert gdm_motion_seg.segment_motions is segment_motions


def test_with_many_points_a_sample_is_searched_and_all_points_are_labelled(pair_of, right):
    pair = pair_of(3, 0, n_points=1200, outliers=0.05)
    answer = segment(pair)
    assert answer.n_motions == 3
    assert right(answer.labels, pair.truth) > 0.95


def test_a_short_budget_still_finds_motions(pair_of):
    answer = segment(pair_of(3, 0, n_points=1200), time_budget_ms=5.0)
    assert answer.n_motions >= 1 and not answer.complete
