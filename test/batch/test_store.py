# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files of the output folder are complete or absent, and one command uses it at a time."""

import errno

import fsspec
import pytest

from gdm_motion_seg.batch.store import OutputStore, Store
from gdm_motion_seg.errors import InputError, MissingDependencyError


@pytest.fixture(params=['local', 'memory'])
def store(request, tmp_path):
    """Return an empty store of each kind."""
    if request.param == 'local':
        return Store(str(tmp_path / 'out'))
    fsspec.filesystem('memory').store.clear()
    return Store('memory://out')


def test_what_is_written_can_be_read_listed_and_removed(store):
    store.write('a/b.txt', b'1')
    store.write('a/b.txt', b'2')
    assert store.read('a/b.txt') == b'2'
    assert store.names('a') == ['b.txt'] and store.names('nowhere') == []
    store.remove('a')
    store.remove('a')
    assert not store.exists('a/b.txt')


def test_a_file_is_absent_when_its_writer_fails(store):
    store.write('a/old.txt', b'old')
    for name in ('a/new.txt', 'a/old.txt'):
        with pytest.raises(OSError), store.writing(name) as file:
            file.write_bytes(b'half')
            raise OSError(errno.ENOSPC, 'No space left on device')
    assert store.names('a') == ['old.txt'] and store.read('a/old.txt') == b'old'


def test_a_file_that_a_killed_writer_left_is_not_listed_and_is_removed_later(tmp_path):
    with OutputStore(str(tmp_path / 'out')) as store:
        store.write('a/b.txt', b'')
        left_over = tmp_path / 'out' / 'a' / '.c.txt.tmp-0123'
        left_over.write_bytes(b'half')
        assert store.names('a') == ['b.txt']
    with OutputStore(str(tmp_path / 'out')):
        assert not left_over.exists()


def test_a_folder_with_files_of_others_is_refused_and_left_alone(tmp_path):
    (tmp_path / 'thesis.tex').write_text('precious')
    with pytest.raises(InputError, match='did not write'), OutputStore(str(tmp_path)):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ['thesis.tex']
    taken = OutputStore(str(tmp_path / 'thesis.tex'))
    with pytest.raises(InputError, match='not a folder'), taken:
        pass


def test_a_folder_is_used_by_one_command_at_a_time(tmp_path):
    out = str(tmp_path / 'out')
    with OutputStore(out):
        with pytest.raises(InputError, match='another "batch"'), OutputStore(out):
            pass
    with OutputStore(out):
        pass


def test_a_missing_package_for_an_address_is_named():
    with pytest.raises(MissingDependencyError, match='dropboxdrivefs'):
        Store('dropbox://bucket/folder')
