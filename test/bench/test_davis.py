# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of masks: its figures, and a run on a folder that synth writes."""

import json

import numpy as np
import pytest

from gdm_motion_seg.cli.main import main
from gdm_motion_seg_tools.bench import davis, footage, sfm
from gdm_motion_seg_tools.bench.reference_tracker import ReferenceTracker
from gdm_motion_seg_tools.synth import Renderer, scene_named


def test_overlap_is_intersection_over_union_and_1_if_both_are_empty():
    one, two = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    assert davis.overlap(one, two) == 1.0
    one[:2], two[1:3] = True, True
    assert davis.overlap(one, two) == pytest.approx(4 / 12)
    assert davis.overlap(one, np.zeros((4, 4), bool)) == 0.0


def test_davis_runs_on_a_folder_that_synth_made(tmp_path, monkeypatch):
    pytest.importorskip('matplotlib', reason='--plots needs matplotlib')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(davis, 'STATIC_FRAMES', 2)
    monkeypatch.setattr(davis, 'LEFT_OUT_S', 0.4)
    assert main(['synth', 'set', '--masks', '--scene', 'two_movers,resting', '--frames', '14',
                 '--size', '320x240']) == 0
    assert main(['bench', 'davis', '--data', 'set', '--json', 'out.json', '--plots', 'p']) == 0
    report = json.loads((tmp_path / 'out.json').read_text())
    rows = {row['sequence']: row for row in report['rows'] if 'sequence' in row}
    assert rows['resting']['j'] == 1.0 and rows['resting']['mask_share'] == 0.0
    assert rows['two_movers']['j'] > 0.5
    summary = report['summary']['gdm']
    assert summary['j'] == pytest.approx((rows['resting']['j'] + rows['two_movers']['j']) / 2)
    assert {'mask_over_t500', 'static_mask_share', 'moving_calibration_error'} <= set(summary)
    assert (tmp_path / 'p' / 'two_movers.jpg').is_file()
    bins = [row for row in report['rows'] if 'moving_share' in row]
    assert sum(row['keypoints'] for row in bins) > 1000 and bins[0]['moving'] == '0.0 to 0.1'
    svg = (tmp_path / 'p' / 'reliability.svg').read_text()
    assert 'share of the keypoints that move' in svg and f'{bins[0]["keypoints"]:,}' in svg


def test_the_reliability_is_the_share_that_moves_of_the_keypoints_in_each_tenth():
    one, two = footage.Counts(), footage.Counts()
    one.add_points(np.array([0.02, 0.04, 0.83, 0.87, 0.5]), np.array([0, 0, 1, 0, -1]))
    two.add_points(np.array([0.85, 1.0]), np.array([2, 1]))
    bins = footage.reliability_bins([one, two])
    assert [(b.tenth, b.count, b.share) for b in bins] == [
        (0, 2, 0.0), (8, 3, pytest.approx(2 / 3)), (9, 1, 1.0)]
    assert [b.said for b in bins] == pytest.approx([0.03, 0.85, 1.0], abs=1e-6)
    expected = (2 * 0.05 + 3 * abs(2 / 3 - 0.85) + 0.05) / 6
    assert footage.calibration_error([one, two]) == pytest.approx(expected)


@pytest.mark.parametrize('words, sentence', [
    ((), 'needs --data'), (('--data', 'empty'), 'contains no footage'),
    (('--data', 'half'), 'contains no image')])
def test_a_folder_that_is_not_a_data_set_is_refused_with_one_sentence(words, sentence, tmp_path,
                                                                      monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'half' / 'JPEGImages' / 'a').mkdir(parents=True)
    (tmp_path / 'half' / 'Annotations').mkdir()
    assert main(['bench', 'davis', *words]) == 2
    assert sentence in capsys.readouterr().err


def test_the_reference_tracker_keeps_about_500_tracks_that_follow_the_image():
    rng = np.random.default_rng(0)
    wide = np.kron(rng.integers(0, 256, (120, 170), np.uint8), np.ones((4, 4), np.uint8))
    tracker = ReferenceTracker()
    first = tracker.track(np.ascontiguousarray(wide[:480, 8:648]))
    second = tracker.track(np.ascontiguousarray(wide[:480, 10:650]))
    assert 400 <= len(first) <= 500 and 400 <= len(second) <= 500
    nearest = np.abs(second[:, None] - (first - (2, 0))[None]).max(axis=2).min(axis=1)
    assert np.mean(nearest < 0.5) > 0.7


def test_a_similarity_aligns_paths_and_leaves_no_error():
    renderer = Renderer(scene_named('bus'), (64, 48))
    frames = [renderer.frame(i) for i in range(0, 60, 6)]
    turn = frames[5].world_from_camera[:3, :3]
    poses = {}
    for i, frame in enumerate(frames):
        pose = np.eye(4)
        pose[:3, :3] = turn @ frame.world_from_camera[:3, :3]
        pose[:3, 3] = 3.0 * turn @ frame.world_from_camera[:3, 3] + (1.0, 2.0, 3.0)
        poses[i] = pose
    row = sfm.measure(sfm.Reconstruction(poses, []), frames)
    assert row['ate'] == pytest.approx(0.0, abs=1e-6)
    assert row['rotation_deg'] == pytest.approx(0.0, abs=1e-4)
    assert sfm.measure(sfm.Reconstruction({}, []), frames)['ate'] == sfm.FAILED_ATE


def test_points_on_movers_are_counted_by_most_of_their_observations(monkeypatch):
    monkeypatch.setattr(sfm, 'SIZE', (64, 48))
    frame = Renderer(scene_named('bus'), (64, 48)).frame(60)
    on = np.argwhere(frame.labels > 0)[0][::-1].astype(float)
    off = np.argwhere(frame.labels == 0)[0][::-1].astype(float)
    model = sfm.Reconstruction({}, [[(0, on), (0, on), (0, off)], [(0, off), (0, off)]])
    assert sfm.mover_share(model, [frame]) == 0.5
