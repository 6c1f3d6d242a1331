# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report of a measurement."""

import io
import json

import pytest
from rich.console import Console

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.bench.report import make_report, print_table, write_csv, write_json

SUMMARY = {'gdm': {'error': 3.0, 'k_right': 0.9}, 'magsac': {'error': 2.0, 'k_right': 0.5},
           'ref': {'error': 0.1}}


def printed(width=100, **options):
    text = io.StringIO()
    print_table(make_report('adelaide', SUMMARY, []), Console(file=text, width=width), **options)
    return text.getvalue()


def test_the_best_value_of_each_column_is_marked():
    text = printed(ranked=['gdm', 'magsac'])
    assert '*2.00' in text
    assert '*0.90' in text
    assert '*0.1' not in text.replace('*0.90', ''), 'a reference is not ranked'


def test_nothing_is_marked_without_competition():
    assert '*' not in printed()


def test_a_narrow_terminal_gets_several_tables():
    text = printed(width=25)
    assert 'k_right' in text
    assert '…' not in text


def test_undefined_numbers_are_null_in_the_json(tmp_path):
    write_json(make_report('x', {'m': {'a': float('nan')}}, [{'b': float('inf')}]), tmp_path / 'x')
    report = json.loads((tmp_path / 'x').read_text())
    assert report == {'benchmark': 'x', 'summary': {'m': {'a': None}}, 'rows': [{'b': None}]}


def test_rows_with_different_keys_share_a_table(tmp_path):
    write_csv(make_report('x', {}, [{'a': 1}, {'b': 2, 'roc': [0.0, 1.0]}]), tmp_path / 'x.csv')
    assert (tmp_path / 'x.csv').read_text().split() == ['a,b', '1,', ',2']


def test_a_path_that_cannot_be_written_is_refused_with_one_sentence(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(InputError, match='cannot write'):
        write_json(make_report('x', {}, []), tmp_path / 'file' / 'x.json')
