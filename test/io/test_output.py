# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Outputs are complete or absent."""

import os
from pathlib import Path
import resource
import signal

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io import videos
from gdm_motion_seg.io.output import MARK, output_file, output_folder, UNFINISHED
from gdm_motion_seg.io.videos import VideoWriter


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_folder_is_taken_at_the_start_and_filled_when_it_is_finished(tmp_path):
    out = tmp_path / 'deep' / 'out'
    with output_folder(out) as folder:
        (folder / 'a').write_text('1')
        assert out.is_dir() and not (out / 'a').exists()
        assert folder.name == 'out', 'bags name their files after it'
    assert (out / 'a').read_text() == '1'
    assert names(out) == [MARK, 'a'] and names(tmp_path / 'deep') == ['out']


def test_a_second_run_with_the_same_output_is_refused_at_its_start(tmp_path):
    with output_folder(tmp_path / 'out') as folder:
        (folder / 'first').touch()
        for overwrite in (False, True):
            with pytest.raises(InputError, match='is being written by another run'), \
                    output_folder(tmp_path / 'out', overwrite):
                pass
    assert names(tmp_path / 'out') == [MARK, 'first']
    with output_file(tmp_path / 'a.json') as file:
        file.write_text('1')
        with pytest.raises(InputError, match='exists already'), output_file(tmp_path / 'a.json'):
            pass
    assert (tmp_path / 'a.json').read_text() == '1'


def test_files_that_appear_during_a_run_are_kept(tmp_path):
    out = tmp_path / 'out'
    with output_folder(out) as folder:
        (folder / 'a').write_text('ours')
        (out / 'notes.txt').write_text('theirs')
    assert (out / 'notes.txt').read_text() == 'theirs' and (out / 'a').read_text() == 'ours'
    with pytest.raises(InputError, match='created by another program'), \
            output_folder(out, overwrite=True) as folder:
        (folder / 'b').write_text('ours')
        (out / 'b').write_text('theirs')
    assert (out / 'b').read_text() == 'theirs' and (out / 'a').read_text() == 'ours'
    file = tmp_path / 'a.json'
    with pytest.raises(InputError, match='replaced by another program'), output_file(file) as mine:
        mine.write_text('ours')
        file.unlink()
        file.write_text('theirs')
    assert file.read_text() == 'theirs'


def test_overwriting_removes_the_files_of_the_earlier_run_and_no_others(tmp_path):
    out = tmp_path / 'out'
    with output_folder(out) as folder:
        (folder / 'answers').mkdir()
        (folder / 'answers' / 'old.mcap').touch()
        (folder / 'gone').mkdir()
        (folder / 'gone' / 'old').touch()
    (out / 'answers' / 'thesis.tex').touch()
    with output_folder(out, overwrite=True) as folder:
        (folder / 'answers').mkdir()
        (folder / 'answers' / 'new.mcap').touch()
    assert names(out / 'answers') == ['new.mcap', 'thesis.tex']
    assert names(out) == [MARK, 'answers']


def test_a_folder_without_a_list_of_its_files_is_not_overwritten(tmp_path):
    (tmp_path / MARK).touch()
    (tmp_path / 'a').touch()
    with pytest.raises(InputError, match='remove it first'), output_folder(tmp_path, True):
        pass
    (tmp_path / MARK).write_text('{"files": ["../outside", "/etc/passwd", "a"]}')
    outside = tmp_path.parent / 'outside'
    outside.touch()
    with output_folder(tmp_path, overwrite=True) as folder:
        (folder / 'b').touch()
    assert outside.exists() and names(tmp_path) == [MARK, 'b']


def test_an_empty_folder_is_filled_in_place_as_a_mount_point_requires(tmp_path):
    out = tmp_path / 'mounted'
    out.mkdir()
    inode = out.stat().st_ino
    tmp_path.chmod(0o555)
    try:
        with output_folder(out) as folder:
            (folder / 'a').touch()
    finally:
        tmp_path.chmod(0o755)
    assert out.stat().st_ino == inode and names(out) == [MARK, 'a']


def test_remains_of_a_killed_run_are_removed(tmp_path):
    out = tmp_path / 'out'
    (out / UNFINISHED / 'out').mkdir(parents=True)
    (out / UNFINISHED / 'out' / 'half').touch()
    (out / MARK).touch()
    with output_folder(out) as folder:
        (folder / 'a').touch()
    assert names(out) == [MARK, 'a']


def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    for path in (pipe, Path('/dev/null')):
        with pytest.raises(InputError, match='not a regular file'), output_file(path, True):
            pass
    assert pipe.is_fifo() and Path('/dev/null').is_char_device()


@pytest.mark.parametrize('error', [KeyboardInterrupt, InputError('x'), OSError(28, 'full')])
def test_an_interrupted_folder_leaves_nothing(tmp_path, error):
    with pytest.raises(BaseException), output_folder(tmp_path / 'out') as folder:
        (folder / 'half').write_text('1')
        raise error
    assert names(tmp_path) == []


def test_an_interrupted_overwrite_leaves_the_old_one(tmp_path):
    with output_folder(tmp_path / 'out') as folder:
        (folder / 'old').touch()
    with pytest.raises(KeyboardInterrupt), output_folder(tmp_path / 'out', True) as folder:
        (folder / 'new').touch()
        raise KeyboardInterrupt
    assert (tmp_path / 'out' / 'old').exists() and names(tmp_path) == ['out']


def test_an_existing_folder_is_replaced_only_on_request_and_only_if_we_wrote_it(tmp_path):
    with output_folder(tmp_path / 'out') as folder:
        (folder / 'old').touch()
    with pytest.raises(InputError, match='--overwrite'), output_folder(tmp_path / 'out'):
        pass
    with output_folder(tmp_path / 'out', overwrite=True) as folder:
        (folder / 'new').touch()
    assert 'old' not in names(tmp_path / 'out') and 'new' in names(tmp_path / 'out')
    home = tmp_path / 'home'
    home.mkdir()
    (home / 'thesis.tex').touch()
    with pytest.raises(InputError, match='not overwritten'), output_folder(home, overwrite=True):
        pass
    assert names(home) == ['thesis.tex']


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / 'out').touch()
    with pytest.raises(InputError, match='not a folder'), output_folder(tmp_path / 'out', True):
        pass


def test_a_file_is_replaced_only_on_request_and_completely(tmp_path):
    path = tmp_path / 'a.json'
    with output_file(path) as file:
        file.write_text('1')
    with pytest.raises(InputError, match='--overwrite'), output_file(path):
        pass
    with pytest.raises(KeyboardInterrupt), output_file(path, overwrite=True) as file:
        file.write_text('2')
        raise KeyboardInterrupt
    assert path.read_text() == '1' and names(tmp_path) == ['a.json']
    with pytest.raises(InputError, match='is a folder'), output_file(tmp_path):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_no_permission_is_one_sentence(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match='Permission denied'), output_folder(tmp_path / 'out'):
        pass


def test_an_impossible_path_is_refused_with_one_sentence():
    with pytest.raises(InputError, match='cannot be written'), output_folder('/proc/none/out'):
        pass


@pytest.mark.parametrize('with_pyav', [True, False])
def test_a_video_that_was_not_written_completely_is_an_error(tmp_path, monkeypatch, with_pyav):
    if not (with_pyav and videos.plays_in_browsers()):
        monkeypatch.setattr(videos, 'plays_in_browsers', lambda: False)
    picture = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, limits[1]))
        writer = VideoWriter(tmp_path / 'a.mp4', 30)
        with pytest.raises(InputError, match='cannot be written as|not written completely'):
            for _ in range(30):
                writer.write(picture)
            writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
