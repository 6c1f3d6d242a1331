# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark ``bench paper``: its rows and its page."""

import argparse
import json
import re

import numpy as np
import pytest
from scipy.io import savemat

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.bench import command, paper, paper_page, runner
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.paper_numbers import (
    HOPKINS, MINIMAL_P, MINIMAL_P_DIMENSIONS, NAMES, RAS_CLEAN, RAS_OUTLIERS, RUN_SECONDS)
from gdm_motion_seg_tools.bench.runner import run_task
from gdm_motion_seg_tools.datasets.ras import read_ras
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene

FEW = 'gdm-paper,gdm-model-reassign,gdm-truth,ref'


@pytest.fixture()
def runs(monkeypatch):
    """Run tasks in this process, and list them."""
    done = []

    def here(todo, jobs):
        for task in todo:
            done.append(task.key)
            yield task, run_task(task)

    monkeypatch.setattr(runner, '_in_processes', here)
    return done


@pytest.fixture()
def data(tmp_path):
    """Write a file of Hopkins155 with two motions, one with three, and one of AdelaideRMF."""
    for folder in ('hopkins155', 'adelaidermf_f'):
        (tmp_path / folder).mkdir()
    for name, k in (('cars1', 2), ('1R', 3)):
        pair = make_scene(Scene(n_points=30 * k, n_motions=k), np.random.default_rng(k))
        savemat(tmp_path / 'hopkins155' / f'{name}_truth.mat', {
            'y': np.stack(homogeneous(pair), axis=2), 's': pair.truth + 1, 'width': 640,
            'height': 480})
    pair = make_scene(Scene(n_points=60, n_motions=2, outliers=0.2), np.random.default_rng(0))
    savemat(tmp_path / 'adelaidermf_f' / 'cube.mat', {
        'data': np.vstack(homogeneous(pair)), 'label': pair.truth + 1,
        'img1': np.zeros((480, 640), np.uint8)})
    return tmp_path


def homogeneous(pair):
    return [np.vstack([x.T, np.ones(len(pair))]) for x in (pair.x1, pair.x2)]


def parse(data, *words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(['paper', '--data', str(data), '--seeds', '1', *words])


def cells(text):
    """Return the cells of every table of a page."""
    return [cell.strip() for line in text.splitlines() if line.startswith('|')
            for cell in line.strip('|').split('|')]


def test_the_page_has_every_section_and_no_empty_cell(data, runs):
    pytest.importorskip('matplotlib')
    target = data / 'out' / 'paper.md'
    assert command.run(parse(data, '--methods', FEW, '--page', str(target), '--json',
                             str(data / 'p.json'))) == 0
    text = target.read_text()
    for title in ('start of Algorithm 1', 'smallest p', 'collapsing cloud', 'Hopkins155',
                  'Outliers', 'RAS data', 'Run times', 'Progressive-X'):
        assert re.search(f'^## .*{title}', text, re.MULTILINE), title
    assert all(cells(text))
    assert (target.parent / 'images' / 'paper_roc.png').stat().st_size > 1000
    report = json.loads((data / 'p.json').read_text())
    assert {'error_2', 'error_3', 'reached_truth_2', 'seconds', 'total_seconds'} <= set(
        report['summary']['gdm-paper'])
    assert {'adelaide_inlier_error', 'tpr', 'fpr'} <= set(report['summary']['gdm-model-reassign'])


def test_the_same_command_continues_from_finished_rows(data, runs):
    words = ('--methods', 'gdm-paper,ref', '--json', str(data / 'p.json'))
    command.run(parse(data, *words))
    first = list(runs)
    command.run(parse(data, *words))
    assert first and runs == first
    command.run(parse(data, *words, '--fresh'))
    assert len(runs) == 2 * len(first)


def test_gdm_comes_before_the_rivals():
    stages = paper._stages(paper._wanted(''), 3, False)
    own = [all(name.startswith('gdm') for name in stage.methods) for stage in stages]
    assert own == sorted(own, reverse=True) and any(own) and not all(own)
    assert stages[0].seeds == 3 and {stage.seeds for stage in stages[1:]} == {1}


def test_every_method_of_the_page_exists_and_has_a_name():
    named = {*paper.VARIANTS, *paper.READINGS, *paper.RIVALS, *HOPKINS, *RAS_OUTLIERS}
    assert named <= set(METHODS) and named <= set(NAMES)
    assert {*RAS_CLEAN, *RUN_SECONDS} <= set(METHODS)


def test_slow_rivals_run_only_on_request():
    for name in ('ssc-nonlinear', 'hosc-3'):
        assert name not in paper._wanted('') and name in paper._wanted('all')


def test_the_smallest_p_is_that_of_the_paper():
    for k, published in MINIMAL_P.items():
        for d, value in zip(MINIMAL_P_DIMENSIONS, published):
            assert paper.minimal_p(k, d) == pytest.approx(value, abs=0.0051)


def test_the_cloud_has_three_two_and_one_dimensions():
    for values in paper.collapsing_cloud(4000).values():
        assert [values[0], values[3], values[6]] == pytest.approx([3, 2, 1], abs=0.1)
        assert (np.diff(values) < 1e-9).all()


def rows_of(method, errors):
    return [{'benchmark': 'hopkins155', 'method': method, 'pair': f'file{i}', 'k_true': 2,
             'group': 'traffic', 'error': error} for i, error in enumerate(errors)]


def test_figures_that_differ_from_the_paper_by_more_than_a_third_are_listed():
    far = paper_page._missed(rows_of('mapa-nonlinear', [30.0, 30.0]))
    assert 'MAPA, 2 motions: 30.00 instead of 10.69, 181% higher' in far
    assert 'Why MAPA misses is not known' in far
    assert 'No mean' in paper_page._missed(rows_of('mapa-nonlinear', [10.0, 11.0]))


def test_the_files_on_which_a_rival_is_better_are_named():
    text = paper_page._beaten(rows_of('gdm-paper', [20.0, 0.0, 1.0])
                              + rows_of('mapa-nonlinear', [5.0, 30.0, 0.9]))
    assert '| MAPA | 1 | 1 | file0 (20 to 5 %) |' in text


def test_the_page_warns_if_positions_suffice():
    summary = {'k-means': {'adelaide_inlier_error': 0.0, 'adelaide_error': 44.0},
               'slbf-ms': {'adelaide_inlier_error': 0.1, 'adelaide_error': 44.0}}
    text = paper_page._outliers(summary, '')
    assert 'The inlier error must be read with care' in text
    assert text.index('| k-means on positions (control) | 0.00 | 44.00 |') < text.index(
        '| SLBF-MS (d = 6) | 0.10 | 44.00 |')


def test_a_control_is_not_listed_as_a_better_rival():
    text = paper_page._beaten(rows_of('gdm-paper', [20.0]) + rows_of('k-means', [0.0]))
    assert text == ''


def test_a_table_refuses_an_empty_cell():
    with pytest.raises(ValueError, match='empty cell'):
        paper_page.table(('a', 'b'), [['1', '']])


@pytest.mark.parametrize('words, sentence', [
    (['--methods', 'magic'], "no method 'magic'"), (['--pairs', 'nothing'], "'nothing'")])
def test_an_unknown_method_is_refused_with_one_sentence(data, words, sentence):
    with pytest.raises(InputError, match=sentence):
        paper.run(parse(data, *words))


def test_the_error_says_which_data_are_needed(data):
    args = parse(data)
    args.data = None
    with pytest.raises(InputError, match='needs --data DIR'):
        paper.run(args)


def write_ras(folder, **contents):
    folder.mkdir()
    pair = make_scene(Scene(n_points=50, n_motions=2, outliers=0.1), np.random.default_rng(4))
    savemat(folder / '1.mat', {'x1': pair.x1.T, 'x2': pair.x2.T, 'label': pair.truth + 1,
                               **contents})
    return pair


def test_a_folder_of_ras_files_fills_its_column(data, runs):
    write_ras(data / 'ras')
    target = data / 'paper.md'
    command.run(parse(data, '--methods', 'gdm-paper', '--page', str(target)))
    line = next(line for line in target.read_text().splitlines()
                if line.startswith('| `gdm-paper` |') and line.endswith('| 1.22 |'))
    assert re.fullmatch(r'\| `gdm-paper` \| \d+\.\d\d \| 1\.22 \|', line)


def test_a_ras_file_is_read_and_a_wrong_one_refused(tmp_path):
    pair = write_ras(tmp_path / 'good', img1=np.zeros((480, 640), np.uint8))
    read, = read_ras(tmp_path / 'good')
    np.testing.assert_array_equal(read.truth, pair.truth)
    assert read.image_size == (640, 480)
    write_ras(tmp_path / 'bad', x1=np.zeros((5, 50)))
    with pytest.raises(InputError, match='2 x N or 3 x N'):
        list(read_ras(tmp_path / 'bad'))
