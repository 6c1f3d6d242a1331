# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``bench`` from its flags to its files."""

import argparse
import csv
import json

import numpy as np
import pytest
from scipy.io import savemat

from gdm_motion_seg.cli.main import main
from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.bench import command, runner
from gdm_motion_seg_tools.bench.runner import run_task
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene


@pytest.fixture()
def in_this_process(monkeypatch):
    """Run tasks in this process; another test covers worker processes."""
    monkeypatch.setattr(runner, '_in_processes',
                        lambda todo, jobs: ((task, run_task(task)) for task in todo))


def parse(*words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(list(words))


def test_a_run_writes_json_csv_and_plots_and_prints_a_table(tmp_path, capsys, in_this_process):
    pytest.importorskip('matplotlib')
    args = parse('synthetic', '--methods', 'magsac,ref', '--seeds', '1', '--pairs', '/0',
                 '--json', str(tmp_path / 'out' / 's.json'), '--csv', str(tmp_path / 's.csv'),
                 '--plots', str(tmp_path / 'plots'))
    assert command.run(args) == 0
    report = json.loads((tmp_path / 'out' / 's.json').read_text())
    assert report['benchmark'] == 'synthetic'
    assert set(report['summary']) == {'magsac', 'ref'}
    assert all(isinstance(v, (int, float)) for s in report['summary'].values() for v in s.values())
    assert {'error', 'error_auto', 'k_right', 'epipolar_error_ratio', 'error_outliers_60',
            'k_right_motions_5'} <= set(report['summary']['magsac'])
    with (tmp_path / 's.csv').open() as file:
        assert len(list(csv.DictReader(file))) == len(report['rows']) == 24 * 3
    names = {path.name for path in (tmp_path / 'plots').iterdir()}
    assert {'synthetic_error_per_pair.png', 'synthetic_accuracy_time.png',
            'synthetic_k_right_outliers.png'} <= names
    printed = capsys.readouterr().out
    assert 'magsac' in printed
    assert 'error_auto' in printed


def test_adelaide_gives_every_promised_key(tmp_path, in_this_process):
    pytest.importorskip('poselib')
    pytest.importorskip('matplotlib')
    rng = np.random.default_rng(0)
    data = np.vstack([rng.uniform(0, 480, (2, 60)), np.ones(60), rng.uniform(0, 480, (2, 60)),
                      np.ones(60)])
    savemat(tmp_path / 'a.mat', {'data': data, 'label': np.repeat([0, 1], 30),
                                 'img1': np.zeros((480, 640), np.uint8)})
    args = parse('adelaide', '--data', str(tmp_path), '--methods', 'magsac,poselib',
                 '--seeds', '1', '--json', str(tmp_path / 'a.json'), '--plots', str(tmp_path))
    assert command.run(args) == 0
    summary = json.loads((tmp_path / 'a.json').read_text())['summary']['magsac']
    assert {'error', 'error_auto', 'k_right', 'tpr', 'fpr', 'tpr_at_fpr_0.01', 'tpr_at_fpr_0.05',
            'tpr_at_fpr_0.1', 'seconds'} <= set(summary)
    assert (tmp_path / 'adelaide_roc.png').stat().st_size > 1000


def test_hopkins155_reports_errors_by_the_number_of_motions(tmp_path, in_this_process):
    for name, k in (('1R', 2), ('2T', 3)):
        pair = make_scene(Scene(n_points=40 * k, n_motions=k), np.random.default_rng(k))
        y = np.stack([np.vstack([x.T, np.ones(len(pair))]) for x in (pair.x1, pair.x2)], axis=2)
        savemat(tmp_path / f'{name}_truth.mat', {'y': y, 's': pair.truth + 1, 'width': 640,
                                                 'height': 480})
    args = parse('hopkins155', '--data', str(tmp_path), '--methods', 'gdm,gdm-paper', '--seeds',
                 '1', '--json', str(tmp_path / 'h.json'))
    assert command.run(args) == 0
    summary = json.loads((tmp_path / 'h.json').read_text())['summary']
    assert {'error_2', 'error_3', 'error_auto', 'k_right', 'seconds'} <= set(summary['gdm'])
    assert {'error_2', 'error_3', 'reached_truth_2', 'reached_truth_3'} <= set(
        summary['gdm-paper'])
    assert 'error_auto' not in summary['gdm-paper'], 'the paper is always given K'


def test_json_can_be_printed_instead_of_the_table(capsys, in_this_process):
    assert command.run(parse('synthetic', '--methods', 'ref', '--seeds', '1', '--pairs',
                             'outliers=60/0', '--json', '-')) == 0
    assert json.loads(capsys.readouterr().out)['benchmark'] == 'synthetic'


def test_fresh_discards_the_rows_of_an_earlier_run(tmp_path, in_this_process):
    words = ['synthetic', '--methods', 'ref', '--seeds', '1', '--pairs', 'motions=2/0', '--json',
             str(tmp_path / 's.json')]
    seconds = []
    for flags in ([], [], ['--fresh']):
        command.run(parse(*words, *flags))
        seconds.append(json.loads((tmp_path / 's.json').read_text())['rows'][0]['seconds'])
    assert seconds[0] == seconds[1] != seconds[2]


@pytest.mark.parametrize('words, sentence', [
    (['hopkins155'], 'needs --data'),
    (['adelaide', '--data', '{tmp}/nowhere'], 'there is no folder'),
    (['adelaide', '--data', '{tmp}'], 'contains no'),
    (['synthetic', '--methods', 'magic'], "no method 'magic'"),
    (['synthetic', '--pairs', 'xyz'], "'xyz'"),
    (['synthetic', '--json', '{tmp}'], 'cannot write'),
    (['synthetic', '--seeds', '0'], 'whole number of at least 1'),
    (['synthetic', '--jobs', 'two'], 'whole number of at least 1'),
    (['soak', '--minutes', '-1'], 'minutes above 0'),
    (['everest'], 'everest'),
])
def test_a_mistake_is_one_sentence_and_exit_code_2(words, sentence, tmp_path, capsys):
    try:
        code = main(['bench', *(word.replace('{tmp}', str(tmp_path)) for word in words)])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err
    assert code == 2
    assert sentence in said
    assert 'Traceback' not in said
    assert len(said.strip().splitlines()) == 1


def test_methods_are_all_but_the_slow_ones_unless_named():
    assert 'ssc-linear' not in command.chosen_methods('')
    assert 'ssc-linear' in command.chosen_methods('all')
    assert command.chosen_methods('ref, magsac,ref') == ['ref', 'magsac']
    with pytest.raises(InputError):
        command.chosen_methods('gdm,nothing')


def test_data_may_be_the_folder_of_one_data_set_or_of_all(tmp_path):
    own = tmp_path / 'adelaidermf_f'
    own.mkdir()
    benchmark = command.BENCHMARKS['adelaide']
    assert command._own(benchmark, tmp_path) == own
    assert command._own(benchmark, own) == own
