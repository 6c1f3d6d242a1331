# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conditions on bodies, and the moments that match them."""

import pyarrow as pa
from pyarrow import parquet
import pytest

from gdm_motion_seg.batch.query import find_moments, parse_condition
from gdm_motion_seg.batch.tables import MOTIONS
from gdm_motion_seg.cli.main import main
from gdm_motion_seg.errors import InputError


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a data set of two recordings; body 1 pauses, the world has many keypoints."""
    out = tmp_path_factory.mktemp('out')
    for name, shift in (('r1', 0.0), ('x', 100.0)):
        rows = [{'stamp': int(1e9 * t), 'time': t, 'id': 1, 'count': 30, 'moving': 0.9,
                 'kind': 'general'} for t in (shift, shift + 0.1, shift + 2.0)]
        rows += [{'stamp': 10**9, 'time': 1.0, 'id': 0, 'count': 400, 'moving': 0.9},
                 {'stamp': 10**9, 'time': 1.0, 'id': 2, 'count': 5, 'moving': 1.0,
                  'kind': 'planar'}]
        place = out / 'motions' / f'recording={name}'
        place.mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist(rows, MOTIONS), place / '0.parquet')
    return out


def found(folder, text, join=0.5):
    return [(m.recording, m.body, m.start, m.stop, m.frames)
            for m in find_moments(str(folder), text, join)]


def test_frames_that_follow_each_other_are_one_moment_of_a_body(folder):
    assert found(folder, 'moving > 0.8 and count > 20') == [
        ('r1', 1, 0.0, 0.1, 2), ('r1', 1, 2.0, 2.0, 1),
        ('x', 1, 100.0, 100.1, 2), ('x', 1, 102.0, 102.0, 1)]
    assert len(found(folder, 'moving > 0.8 and count > 20', join=3.0)) == 2
    assert len(found(folder, 'moving > 0.8 and count > 20', join=0.0)) == 6


def test_the_world_is_not_a_body(folder):
    assert {body for _, body, *_ in found(folder, 'count > 0')} == {1, 2}


@pytest.mark.parametrize('text, count', [
    ('count < 10', 2), ('not count < 10', 4), ('count < 10 or count > 20', 6),
    ('0.8 < moving <= 0.95', 4), ('kind == "planar"', 2), ('recording == "x" and id == 2', 1),
    ('count * moving > 26.5', 4), ('count / 10 - 1 >= -0.5', 6), ('time > 1e9', 0)])
def test_conditions_mean_what_they_say(folder, text, count):
    assert len(found(folder, text)) == count


@pytest.mark.parametrize('text', [
    '', 'moving', 'moving >', 'colour > 3', 'moving > 0.8; count > 3', 'count in [1, 2]',
    '__import__("os")', 'moving > open("x")', 'moving > 0.8 and count', 'kind > 3', '1 + 1',
    'count.real > 3', 'kind + 1 > 3'])
def test_an_invalid_condition_is_refused_with_one_sentence(folder, text):
    with pytest.raises(InputError, match='condition|column|number|true nor false|supported|'
                       'compares nothing|evaluated'):
        find_moments(str(folder), text, 0.5)


def test_a_condition_is_never_executed_as_code():
    with pytest.raises(InputError):
        parse_condition('(lambda: 1)() > 0')


def test_the_command_prints_recording_time_and_body(folder, capsys):
    assert main(['query', str(folder), 'kind == "planar"']) == 0
    out = capsys.readouterr().out
    assert '2 moments in 2 recordings' in out and 'r1' in out and '1.000' in out
    assert main(['query', str(folder), 'count > 0', '--limit', '1']) == 0
    assert 'first 1 are shown' in capsys.readouterr().out


def test_a_folder_without_results_gives_one_sentence_and_exit_code_2(tmp_path, capsys):
    assert main(['query', str(tmp_path), 'count > 0']) == 2
    assert 'contains no results' in capsys.readouterr().err
