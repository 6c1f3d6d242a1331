# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The CSV tables: documented columns, words instead of codes, times from 0."""

import csv
from pathlib import Path

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.stream import answers
from gdm_motion_seg.io.tables import (
    AnswerTables, KEYPOINT_COLUMNS, MOTION_COLUMNS, names_of, POSES)
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg_tools.synth import Renderer, scene_named

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'files.md'
FRAMES, FPS, SIZE = 10, 20.0, (320, 240)
WORDS = {'true', 'false'}


@pytest.fixture(scope='module')
def written(tmp_path_factory):
    """Write the tables of a rendered folder with a calibrated camera; return rows and results."""
    folder, out = tmp_path_factory.mktemp('frames'), tmp_path_factory.mktemp('tables')
    renderer = Renderer(scene_named('two_movers'), SIZE, FPS)
    for i in range(FRAMES):
        cv2.imwrite(str(folder / f'{i}.png'), renderer.frame(i).image)
    camera = Camera(renderer.camera, np.zeros(0), '', SIZE)
    pipeline, results = MotionPipeline(), []
    with open_source(folder, fps=FPS) as source:
        source.camera_of = lambda frame: camera
        tables = AnswerTables(out, source.zero_stamp)
        for frame, result, known in answers(source, pipeline):
            tables.write(frame, result, known)
            results.append(result)
        tables.close()
    read = {}
    for name in ('keypoints', 'motions'):
        with (out / f'{name}.csv').open(newline='', encoding='utf-8') as file:
            read[name] = list(csv.DictReader(file))
    return read, results


@pytest.mark.parametrize('columns', [KEYPOINT_COLUMNS, MOTION_COLUMNS],
                         ids=['keypoints', 'motions'])
def test_the_page_about_files_describes_every_column(columns):
    rows = ''.join(f'| {name} | {meaning} |\n' for name, meaning in columns.items())
    assert f'| column | what |\n|---|---|\n{rows}\n' in PAGE.read_text(encoding='utf-8')


def test_the_columns_are_those_that_are_documented(written):
    assert list(written[0]['keypoints'][0]) == names_of(KEYPOINT_COLUMNS)
    assert list(written[0]['motions'][0]) == names_of(MOTION_COLUMNS)


def test_frames_count_from_0_and_the_stamp_of_the_first_frame_is_0(written):
    read, results = written
    for row in (*read['keypoints'], *read['motions']):
        frame = int(row['frame'])
        assert int(row['stamp']) == results[frame].stamp - results[0].stamp == frame * 50_000_000
        assert float(row['time']) == pytest.approx(frame / FPS)
    paired = [i for i, result in enumerate(results) if result.has_pair]
    assert sorted({int(row['frame']) for row in read['keypoints']}) == paired


def test_keypoints_have_words_and_numbers(written):
    read, results = written
    last = [row for row in read['keypoints'] if int(row['frame']) == FRAMES - 1]
    answer = results[-1]
    labels = np.array([int(row['label']) for row in last])
    np.testing.assert_array_equal(labels, answer.labels)
    assert [row['what'] for row in last] == [
        'world' if k == 0 else 'body' if k > 0 else 'wrong match' for k in labels]
    assert {row['world'] for row in last} == WORDS
    assert [row['world'] == 'true' for row in last] == (labels == 0).tolist()
    moving = [float(row['moving']) for row in last]
    np.testing.assert_allclose(moving, answer.moving, atol=1e-4)
    assert max(moving) > 0.5 and min(moving) >= 0.0
    uv = [(float(row['u']), float(row['v'])) for row in last]
    np.testing.assert_allclose(uv, answer.correspondences.x2, atol=1e-3)


def test_motions_have_kind_and_pose_in_words_and_the_world_is_marked(written):
    read, results = written
    kinds = {motion.kind.value for result in results for motion in result.motions}
    assert {row['kind'] for row in read['motions']} == kinds
    assert {row['world'] for row in read['motions']} == WORDS
    assert all((row['world'] == 'true') == (row['id'] == '0') for row in read['motions'])
    posed = [row for row in read['motions'] if row['pose'] == POSES[2]]
    assert {row['pose'] for row in read['motions']} <= set(POSES) and posed
    for row in posed:
        assert np.linalg.norm([float(row[f'q{a}']) for a in 'xyzw']) == pytest.approx(1)
        assert np.linalg.norm([float(row[f't{a}']) for a in 'xyz']) == pytest.approx(1)
        assert float(row['rotation_error_deg']) > 0 and float(row['direction_error_deg']) > 0


def test_what_is_not_determined_is_an_empty_cell_and_never_nan(written):
    read, _ = written
    cells = [cell for rows in read.values() for row in rows for cell in row.values()]
    assert not {'nan', 'inf', '-inf', 'None'} & set(cells)
    without = [row for row in read['motions'] if row['pose'] != POSES[2]]
    assert all(row['tx'] == '' for row in without)
    assert all(row['contact_s'] == '' for row in read['motions'] if row['world'] == 'true')


def test_a_data_frame_has_the_columns_of_the_table(written):
    pytest.importorskip('pandas')
    frame = written[1][-1].to_dataframe()
    assert list(frame.columns) == names_of(KEYPOINT_COLUMNS)[3:]
    assert frame.world.dtype == bool and set(frame.what) <= {'world', 'body', 'wrong match'}
