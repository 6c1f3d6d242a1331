# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Outputs are whole or not there."""

import os
import resource
import signal

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.output import output_file, output_folder
from gdm_motion_seg.io.videos import VideoWriter


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_folder_appears_only_when_it_is_finished(tmp_path):
    with output_folder(tmp_path / 'deep' / 'out') as folder:
        (folder / 'a').write_text('1')
        assert not (tmp_path / 'deep' / 'out').exists()
    assert (tmp_path / 'deep' / 'out' / 'a').read_text() == '1'
    assert names(tmp_path / 'deep') == ['out']


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


def test_an_existing_folder_is_replaced_only_on_demand_and_only_if_it_is_ours(tmp_path):
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
    with pytest.raises(InputError, match='no folder'), output_folder(tmp_path / 'out', True):
        pass


def test_a_file_is_replaced_only_on_demand_and_whole(tmp_path):
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


def test_a_place_that_cannot_exist_is_one_sentence():
    with pytest.raises(InputError, match='cannot be written'), output_folder('/proc/none/out'):
        pass


def test_a_video_that_the_disk_did_not_take_is_noticed(tmp_path):
    picture = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, limits[1]))
        writer = VideoWriter(tmp_path / 'a.mp4', 30)
        with pytest.raises(InputError, match='not written completely'):
            for _ in range(30):
                writer.write(picture)
            writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
