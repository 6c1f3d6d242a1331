# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Ground truth: contents, saving and loading, and scores of results."""

import json

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.synth import Renderer, scene_named, Scorer, Truth, UNSCORED

SIZE = (160, 120)


def truth_of(name, indices, size=SIZE):
    scene = scene_named(name)
    renderer = Renderer(scene, size)
    return Truth.of_scene(scene, renderer.camera, [renderer.frame(i) for i in indices])


def test_a_mover_that_stops_belongs_to_the_world_and_one_that_left_is_not_seen():
    moving, stopped, gone, back = 20, 60, 150, 190
    indices = sorted(i + d for i in (moving, stopped, gone, back) for d in (0, 5))
    truth = truth_of('stop_and_return', indices)
    stamp = {i: frame.stamp for i, frame in zip(indices, truth.frames)}

    def motion(i):
        return truth.motion(stamp[i], stamp[i + 5], 1)

    assert motion(moving).is_mover and motion(back).is_mover and motion(stopped).is_still
    assert 1 in truth.labels(stamp[stopped]) and 1 in truth.labels(stamp[back])
    assert 1 not in truth.labels(stamp[gone + 5])
    v, u = np.argwhere(truth.labels(stamp[stopped + 5]) == 1).mean(axis=0)
    assert truth.point_labels(stamp[stopped], stamp[stopped + 5], [[u, v]]).tolist() == [0]


def test_pure_rotation_has_no_fundamental_matrix():
    truth = truth_of('pure_rotation', (0, 5))
    motion = truth.motion(truth.frames[0].stamp, truth.frames[1].stamp, 0)
    assert np.isnan(motion.fundamental).all()
    assert np.abs(motion.rotation - np.eye(3)).max() > 0.005


def test_a_zoom_is_part_of_the_true_fundamental_matrix():
    truth = truth_of('zooming', (0, 15))
    older, newer = truth.frames
    assert newer.camera[0, 0] > 1.1 * older.camera[0, 0]
    assert newer.camera[0, 2] == older.camera[0, 2]
    motion = truth.motion(older.stamp, newer.stamp, 0)
    point = np.array([0.3, -0.2, 4.0])
    x1 = older.camera @ point
    x2 = newer.camera @ (motion.rotation @ point + motion.translation)
    assert x2 @ motion.fundamental @ x1 == pytest.approx(0.0, abs=1e-6 * np.abs(x1).max()**2)


def test_a_still_camera_rests_moves_and_rests():
    truth = truth_of('still_camera', (10, 40, 50, 80, 100, 130))
    steps = [np.abs(b.world_from_camera - a.world_from_camera).max()
             for a, b in zip(truth.frames[::2], truth.frames[1::2])]
    assert steps[0] == steps[2] == 0.0 and steps[1] > 0.1


@pytest.mark.parametrize('name, least', [('bus', 0.15), ('leader', 0.25), ('big2', 0.25)])
def test_large_movers_cover_much_of_the_view(name, least):
    renderer = Renderer(scene_named(name), SIZE)
    assert np.mean([np.mean(renderer.frame(i).labels > 0) for i in range(0, 170, 17)]) > least


def test_planar_motion_turns_about_the_vertical_only():
    truth = truth_of('planar_motion', (0, 5))
    for label in (0, 1):
        motion = truth.motion(truth.frames[0].stamp, truth.frames[1].stamp, label)
        assert motion.translation[1] == pytest.approx(0, abs=1e-9)
        assert motion.rotation[1] == pytest.approx([0, 1, 0], abs=1e-9)


def test_points_near_a_border_or_outside_are_not_scored():
    truth = truth_of('two_movers', (0, 5))
    stamps = [frame.stamp for frame in truth.frames]
    labels = truth.labels(stamps[1])
    row = labels[60]
    edge = int(np.flatnonzero(np.diff(row.astype(int)))[0])
    found = truth.point_labels(*stamps, [[edge, 60], [edge + 1, 60], [-5, 3], [1e6, 3]])
    assert found.tolist() == [UNSCORED] * 4


def test_truth_is_equal_after_saving_and_loading(small_bag):
    folder, truth = small_bag
    document = json.loads((folder / 'truth' / 'truth.json').read_text())
    names = [body['name'] for body in document['bodies']]
    assert names == ['static world', 'red box', 'blue cylinder']
    pair = document['pairs'][3]
    stamps = [document['frames'][pair[k]]['stamp'] for k in ('older', 'newer')]
    for motion in pair['motions']:
        again = truth.motion(*stamps, motion['label'])
        np.testing.assert_allclose(motion['fundamental'], again.fundamental)
        assert np.linalg.det(again.fundamental) == pytest.approx(0, abs=1e-12)
    fresh = Renderer(scene_named('two_movers'), (320, 240)).frame(4)
    np.testing.assert_array_equal(truth.labels(fresh.stamp), fresh.labels)


def test_a_missing_or_broken_truth_is_refused_with_one_sentence(tmp_path):
    for text in (None, '{', '{"scene": "x"}'):
        if text is not None:
            (tmp_path / 'truth.json').write_text(text)
        with pytest.raises(InputError, match='no readable truth'):
            Truth.load(tmp_path)
    with pytest.raises(InputError, match='no frame with stamp 7'):
        truth_of('demo', (0,)).labels(7)


def test_perfect_results_score_one_for_any_ids_and_outliers_do_not_count():
    truth = truth_of('two_movers', (0, 1, 5, 6))
    stamps = [frame.stamp for frame in truth.frames]
    grid = np.stack(np.meshgrid(np.arange(4, 156, 6), np.arange(4, 116, 6)), -1).reshape(-1, 2)
    ids = np.array([7, 3, 9])
    scorer = Scorer(truth)
    for older, newer in (stamps[0::2], stamps[1::2]):
        true = truth.point_labels(older, newer, grid)
        answer = np.where(true >= 0, ids[np.maximum(true, 0)], 3)
        answer[::10] = -1
        scorer.add(older, newer, grid, answer)
    score = scorer.score()
    assert score.share_right == 1.0 and score.pairs == 2
    assert score.motions == score.true_motions == 3
    assert score.match == {7: 0, 3: 1, 9: 2}
    assert 0.8 < score.share_labelled < 0.95
    assert sum(right for _, right in score.per_label.values()) == score.right


def point_on_the_mover(truth, stamps):
    grid = np.stack(np.meshgrid(np.arange(160), np.arange(120)), -1).reshape(-1, 2)
    return grid[truth.point_labels(*stamps, grid) == 1]


def test_a_new_id_of_a_body_is_counted_and_its_labels_are_right():
    truth = truth_of('small_mover', (0, 5))
    stamps = [frame.stamp for frame in truth.frames]
    place = point_on_the_mover(truth, stamps)[:1]
    scorer = Scorer(truth)
    for ids in ([1], [1], [1], [2]):
        scorer.add(*stamps, place, ids)
    score = scorer.score()
    assert (score.share_right, score.id_changes, score.match) == (1.0, 1, {1: 1, 2: 1})


def test_the_smaller_part_of_a_split_body_is_wrong():
    truth = truth_of('small_mover', (0, 5))
    stamps = [frame.stamp for frame in truth.frames]
    scorer = Scorer(truth)
    scorer.add(*stamps, point_on_the_mover(truth, stamps)[:10], [1] * 7 + [2] * 3)
    assert scorer.score().share_right == 0.7


def test_an_id_that_moves_to_another_body_is_wrong_there():
    truth = truth_of('small_mover', (0, 5))
    stamps = [frame.stamp for frame in truth.frames]
    place = np.vstack((point_on_the_mover(truth, stamps)[:1], [[10, 10]]))
    scorer = Scorer(truth)
    for ids in ([1, 0], [1, 0], [1, 0], [0, 1]):
        scorer.add(*stamps, place, ids)
    assert scorer.score().share_right == 0.75


def test_no_results_score_zero():
    score = Scorer(truth_of('demo', (0,))).score()
    assert (score.share_right, score.share_labelled, score.motions) == (0.0, 0.0, 0)
