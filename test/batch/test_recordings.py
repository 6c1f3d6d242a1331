# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings and their names from folders, globs, lists and addresses."""

import os

import cv2
import fsspec
import numpy as np
import pytest

from gdm_motion_seg.batch.recordings import find_recordings
from gdm_motion_seg.errors import InputError


@pytest.fixture
def tree(tmp_path):
    """Make a tree of files that look like recordings by their names."""
    for name in ('bag/metadata.yaml', 'bag/bag_0.mcap', 'run1/camera.mcap', 'run2/camera.mcap',
                 'videos/a b.mp4', 'videos/notes.md', 'frames/1.png', 'frames/2.png',
                 'old_motions/.gdm_motion_seg', 'old_motions/overlay.mp4',
                 'old_motions/answers/metadata.yaml', '.hidden/x.mcap'):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('x')
    return tmp_path


def names(*inputs):
    return [recording.name for recording in find_recordings(map(str, inputs))]


def test_a_folder_is_searched_for_bags_videos_and_folders_of_images(tree):
    assert sorted(names(tree)) == ['bag', 'frames', 'run1-camera', 'run2-camera', 'videos-a_b']


def test_outputs_of_earlier_commands_are_not_inputs(tree):
    assert not any('old_motions' in name for name in names(tree))


def test_a_recording_that_is_named_twice_counts_once(tree):
    assert names(tree / 'bag', tree / 'bag', tree / 'ba*') == ['bag']


def test_a_glob_names_recordings_by_what_differs(tree):
    assert names(tree / 'run*' / 'camera.mcap') == ['run1-camera', 'run2-camera']


def test_a_list_file_holds_paths_relative_to_itself(tree):
    (tree / 'list.txt').write_text(f'# comment\nrun1/camera.mcap\n\n{tree}/frames\n')
    assert names(tree / 'list.txt') == ['camera', 'frames']


def test_two_recordings_with_one_name_are_refused_with_both_paths(tree):
    with pytest.raises(InputError, match='name camera: .*run1.*run2'):
        names(tree / 'run1' / 'camera.mcap', tree / 'run2' / 'camera.mcap')


@pytest.mark.parametrize('text, sentence', [
    ('{}/nowhere', 'does not exist'), ('{}/*.xyz', 'matches nothing'),
    ('{}/empty', 'contains no bag'), ('{}/empty.txt', 'lists no recordings'),
    ('{}/binary.txt', 'not a text file'), ('nonsense://x/y', 'cannot be reached')])
def test_an_input_without_recordings_is_refused_with_one_sentence(tmp_path, text, sentence):
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'empty.txt').write_text('# nothing\n')
    (tmp_path / 'binary.txt').write_bytes(b'\xff\xfe\x80')
    with pytest.raises(InputError, match=sentence):
        names(text.format(tmp_path))


def test_a_name_that_looks_like_a_number_or_a_date_gets_a_letter(tmp_path):
    for name in ('0001', '2026-01-01', '1e5', 'nan', 'x1'):
        (tmp_path / f'{name}.mcap').write_text('x')
    assert sorted(names(tmp_path)) == ['r0001', 'r1e5', 'r2026-01-01', 'rnan', 'x1']


def test_the_fingerprint_changes_only_if_the_file_changes(tmp_path):
    path = tmp_path / 'a.mcap'
    path.write_text('x')

    def fingerprint():
        return find_recordings([str(path)])[0].fingerprint

    first = fingerprint()
    assert fingerprint() == first
    os.utime(path, ns=(1, 10**18))
    second = fingerprint()
    path.write_text('xy')
    os.utime(path, ns=(1, 10**18))
    assert len({first, second, fingerprint()}) == 3


def test_a_recording_at_an_address_is_copied_for_as_long_as_it_is_used():
    files = fsspec.filesystem('memory')
    for i in range(2):
        _, data = cv2.imencode('.png', np.full((8, 8), i, np.uint8))
        files.pipe(f'/logs/drive/{i}.png', data.tobytes())
    recording, = find_recordings(['memory://logs'])
    assert (recording.name, recording.url) == ('drive', 'memory:///logs/drive')
    with recording.local_path() as path:
        assert sorted(file.name for file in path.iterdir()) == ['0.png', '1.png']
    assert not path.exists()
