# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals end the node at any time, also several of them."""

from functools import partial
from itertools import cycle
import os
from pathlib import Path
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from lifecycle_msgs.srv import GetState  # noqa: E402, I100

from gdm_motion_seg.ros.process import dds_environment, NodeProcess  # noqa: E402, I100
from gdm_motion_seg_tools.ros.session import wait_until  # noqa: E402

BOTH = (signal.SIGINT, signal.SIGTERM)


def test_many_signals_at_once_end_the_node_like_a_single_one(session, tmp_path):
    with NodeProcess({'autostart': False}, log=tmp_path / 'log') as node:
        session.call(GetState, '/motion_seg/get_state', GetState.Request(), 180)
        for _, number in zip(range(1000), cycle(BOTH)):
            node.process.send_signal(number)
        assert node.process.wait(60) == 0
        # The middleware of Kilted warns of an environment variable that Jazzy's needs.
        assert all('is deprecated' in line for line in node.output().splitlines()), node.output()


def test_after_a_signal_the_node_is_gone_from_the_graph_and_from_shared_memory(session, tmp_path):
    before = set(Path('/dev/shm').glob('fastrtps_*'))
    with NodeProcess(log=tmp_path / 'log') as node:
        assert wait_until(lambda: 'motion_seg' in session.node.get_node_names(), 180)
        session.call(GetState, '/motion_seg/get_state', GetState.Request(), 600)
        maps = Path(f'/proc/{node.process.pid}/maps').read_text(encoding='utf-8')
        own = set(map(Path, re.findall(r'/dev/shm/fastrtps_[0-9a-f]{16}\b', maps))) - before
        node.process.send_signal(signal.SIGINT)
        assert node.process.wait(60) == 0
        # A node that does not say goodbye stays in the graph for twenty seconds.
        assert wait_until(lambda: 'motion_seg' not in session.node.get_node_names(), 10)
    assert own and not [path for path in own if path.exists()]


COUNT = int(os.environ.get('GDM_MOTION_SEG_SIGNALS', '4'))
"""Number of signals during a start; set it higher by hand, with -s to see their times."""
STAGES = {'import': ('', 2.5, False), 'compile': ('loading compiled code', 10.0, False),
          'configure': ('ready after', 0.05, True), 'activate': ('ready after', 0.6, True)}
"""Stages of a start: the node's message before it, its duration, whether code is compiled."""


def catches(pid, number):
    """Whether a process has a handler for a signal."""
    status = Path(f'/proc/{pid}/status').read_text(encoding='utf-8')
    return bool(int(re.search(r'SigCgt:\s*([0-9a-f]+)', status)[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize('index', range(COUNT))
def test_a_signal_at_any_time_of_a_cold_start_ends_the_node(compiled, tmp_path, monkeypatch,
                                                            index):
    rng = np.random.default_rng(index)
    stage, number = [*STAGES][index % len(STAGES)], BOTH[int(rng.integers(2))]
    words, span, warm = STAGES[stage]
    if not warm:
        monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'cache'))
        monkeypatch.setenv('PYTHONPYCACHEPREFIX', str(tmp_path / 'cache'))
    with NodeProcess(log=tmp_path / 'log') as node:
        assert wait_until(lambda: words in node.output(), 300), node.output()
        time.sleep(after := rng.uniform(0.0, span))
        installed, pythons = (catches(node.process.pid, n) for n in (signal.SIGTERM, number))
        begin = time.monotonic()
        node.process.send_signal(number)
        code, seconds = node.process.wait(60), time.monotonic() - begin
        said = node.output()
    print(f'\n{stage} + {after:.2f} s: {number.name}, handler {installed}, code {code}, ended '
          f'after {seconds:.2f} s, load {os.getloadavg()[0]:.1f}', end=' ')
    # Before the handler is installed, the signal itself ends the process. Until the first line of
    # the executable, Python has a handler of its own for SIGINT, with a traceback.
    assert code == 0 if installed else code in (0, -number)
    assert 'Traceback' not in said or (pythons and not installed and code == -number), said


def test_sigint_ends_the_executable_at_once_from_its_first_import_on():
    code = """
import signal, sys
class Watch:
    def find_spec(self, name, path, target=None):
        if name == 'gdm_motion_seg.ros.main':
            print(signal.getsignal(signal.SIGINT).name)
sys.meta_path.insert(0, Watch())
import gdm_motion_seg.ros.__main__
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.stdout == 'SIG_DFL\n', done.stderr


def test_a_node_that_has_too_little_memory_ends_and_obeys_sigterm(tmp_path):
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))
    log = tmp_path / 'log'
    with log.open('wb') as output:
        process = subprocess.Popen([sys.executable, '-m', 'gdm_motion_seg.ros'],
                                   stdout=output, stderr=output, preexec_fn=limit,
                                   env={**os.environ, **dds_environment()})
    try:
        code = process.wait(8)
    except subprocess.TimeoutExpired:
        process.terminate()
        code = process.wait(60)
    assert code in (2, -signal.SIGTERM), log.read_text()
    assert 'Traceback' not in log.read_text()


@pytest.mark.parametrize('number', BOTH)
def test_a_signal_while_the_node_starts_is_not_lost(tmp_path, number):
    with NodeProcess(log=tmp_path / 'log', arguments=['--log-level', 'debug']) as node:
        # The first output is from the middleware, long before the services of the node exist.
        assert wait_until(lambda: node.output() != '', 180)
        node.process.send_signal(number)
        assert node.process.wait(180) == 0
        assert 'Traceback' not in node.output()
