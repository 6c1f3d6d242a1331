# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled code is cached on disk; without a cache everything works."""

import importlib.util
import os
import resource
import signal
import subprocess
import sys
import threading

import pytest

from gdm_motion_seg.progress import Progress, progress

MODULE = """
from gdm_motion_seg.compilation import kernel

@kernel
def add(a, b):
    return a + b
"""
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from gdm_motion_seg.progress import progress
with progress.reported(print):
    from tiny import add
    assert add(1, 2) == 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that loads a module with one kernel and counts the compilations."""
    monkeypatch.setattr('numba.config.CACHE_DIR', '')  # next to the module
    file = tmp_path / 'tiny.py'
    file.write_text(MODULE)

    def load():
        spec = importlib.util.spec_from_file_location('tiny', file)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        before = progress.compiled
        assert loaded.add(1, 2) == 3
        return progress.compiled - before

    return load


@pytest.fixture
def said(tmp_path):
    """Return what is said about the cache of this test."""
    sentences = []

    def note(sentence):
        if str(tmp_path) in sentence:
            sentences.append(sentence)

    with progress.reported(lambda _: None, note):
        yield sentences


def cache_files(folder, suffix):
    """Return the files of a cache."""
    return sorted((folder / '__pycache__').glob(f'*.{suffix}'))


def test_compiled_code_is_loaded_from_the_cache(module, said, tmp_path):
    assert [module(), module()] == [1, 0]
    assert len(cache_files(tmp_path, 'nbi')) == len(cache_files(tmp_path, 'nbc')) == 1
    assert not said


def zeros(data):
    """Keep the length and clear the end, as a power failure may."""
    return data[:len(data) // 2] + bytes(len(data) - len(data) // 2)


def flipped(data):
    """Change one bit in the middle of the machine code."""
    data = bytearray(data)
    data[len(data) // 2] ^= 1
    return bytes(data)


@pytest.mark.parametrize('suffix, damage', [
    ('nbi', lambda data: b''), ('nbi', lambda data: data[:-20]), ('nbi', zeros),
    ('nbc', lambda data: b''), ('nbc', lambda data: data[:-20]), ('nbc', zeros),
    ('nbc', flipped)],
    ids=['empty index', 'index cut', 'index of zeros', 'empty code', 'code cut', 'code of zeros',
         'code changed'])
def test_a_damaged_file_of_the_cache_is_compiled_again_with_one_sentence(module, said, tmp_path,
                                                                         suffix, damage):
    module()
    file, = cache_files(tmp_path, suffix)
    file.write_bytes(damage(file.read_bytes()))
    assert module() == 1
    sentence, = said
    assert 'is damaged and is compiled again' in sentence and '\n' not in sentence
    assert module() == 0, 'the next start finds it whole'


def test_a_full_disk_is_reported_with_one_sentence(module, said):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        compiled = module()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert compiled == 1
    sentence, = said
    assert 'cannot be kept' in sentence and 'each start compiles again' in sentence


def test_without_any_writable_folder_everything_works_with_one_sentence(tmp_path):
    (tmp_path / 'tiny.py').write_text(MODULE)
    # Root may write everywhere, so a missing permission would have no effect.
    (tmp_path / '__pycache__').touch()
    nowhere = '/proc/nowhere'
    environment = {**os.environ, 'HOME': nowhere, 'XDG_CACHE_HOME': nowhere,
                   'NUMBA_CACHE_DIR': nowhere, 'PYTHONDONTWRITEBYTECODE': '1'}
    done = subprocess.run([sys.executable, '-c', RUN, str(tmp_path)], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stdout.splitlines() if 'writable' in line]
    assert notes == ['there is no writable folder for compiled code (see NUMBA_CACHE_DIR), so '
                     'each start compiles again']


def test_a_long_wait_is_reported_repeatedly_and_a_short_one_is_not(monkeypatch):
    this, said, enough = Progress(), [], threading.Event()

    def say(sentence):
        said.append(sentence)
        if len(said) == 3:
            enough.set()

    monkeypatch.setattr('gdm_motion_seg.progress.EVERY_S', 0.01)
    with this.reported(say):
        with this.waiting('compiling'):
            assert enough.wait(20)
    assert all(sentence.startswith('compiling (') for sentence in said)
    assert this.text() == ''


def test_the_times_of_waits_add_up(monkeypatch):
    now = [0.0]
    monkeypatch.setattr('gdm_motion_seg.progress.time.monotonic', lambda: now[0])
    this = Progress()
    with this.waiting('compiling'):
        now[0] = 40.0
    now[0] = 1000.0
    with this.waiting('compiling'):
        now[0] = 1005.0
        assert this.text() == 'compiling (45 s so far)'


def test_a_note_also_reaches_later_listeners_but_once():
    this, early, late = Progress(), [], []
    with this.reported(early.append):
        this.note('no room')
        this.note('no room')
    with this.reported(print, late.append):
        pass
    assert early == late == ['no room']


REORDERED = """
import numpy as np
from gdm_motion_seg.compilation import kernel, reordered_kernel

@reordered_kernel
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result

@kernel
def mean(values):
    return total(values) / len(values)

mean(np.ones(9))
print(len(total.signatures))
"""


def test_with_a_cache_the_same_copy_of_a_reordered_function_is_used_as_without(tmp_path):
    """The copy in the code of its caller is optimized twice, and may add in another order."""
    (tmp_path / 'sums.py').write_text(REORDERED)
    for _ in range(2):
        done = subprocess.run([sys.executable, str(tmp_path / 'sums.py')], text=True,
                              capture_output=True,
                              env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path / 'cache')})
        assert done.stdout == '1\n', done.stderr


def test_an_inner_kernel_cannot_be_called_from_python():
    from gdm_motion_seg.geometry.rigid import copy
    with pytest.raises(TypeError, match='copy can be called by compiled functions only'):
        copy(None, None)
