# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A damaged cache of compiled code: commands and the node work and say so once."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

from numba.core.caching import _CacheLocator
import pytest

import gdm_motion_seg
from gdm_motion_seg.gdm.excess import excess_dimension

DAMAGED = '*excess_dimension*.nbc'


@pytest.fixture
def cache(compiled, tmp_path):
    """Return a copy of the cache on disk in which one function is damaged."""
    folder = tmp_path / 'cache'
    package = Path(gdm_motion_seg.__file__).parent
    used = Path(excess_dimension._cache.cache_path)
    for module in {path.parent for path in package.rglob('*.py')}:
        name = _CacheLocator.get_suitable_cache_subpath(str(module / 'any.py'))
        source = module / '__pycache__' if used.name == '__pycache__' else used.parent / name
        for file in [*source.glob('*.nbi'), *source.glob('*.nbc')]:
            (folder / name).mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, folder / name)
    damaged = list(folder.rglob(DAMAGED))
    assert damaged
    for file in damaged:
        file.write_bytes(file.read_bytes()[:-20])
    return folder


def complaints(text):
    return [line for line in text.splitlines() if 'is damaged and is compiled again' in line]


def test_a_command_works_and_says_once_that_the_cache_is_damaged(cache):
    done = subprocess.run([sys.executable, '-m', 'gdm_motion_seg', 'compile'],
                          env={**os.environ, 'NUMBA_CACHE_DIR': str(cache)},
                          capture_output=True, text=True)
    assert done.returncode == 0 and 'Traceback' not in done.stderr, done.stderr
    assert len(complaints(done.stderr)) == 1, done.stderr
    assert 1 <= int(done.stdout.split()[0]) < 20, 'the others are in the cache'


def test_the_node_becomes_ready_and_says_once_that_the_cache_is_damaged(cache, tmp_path,
                                                                        monkeypatch):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg.ros.process import NodeProcess
    from gdm_motion_seg_tools.ros.session import wait_until
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(cache))
    with NodeProcess(log=tmp_path / 'log') as node:
        assert wait_until(lambda: 'ready after' in node.output(), 300), node.output()
        assert node.stop() == 0
    assert len(complaints(node.output())) == 1, node.output()
    assert 'Traceback' not in node.output()
