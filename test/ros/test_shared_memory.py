# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared memory of killed processes is removed, and nothing else."""

import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')

from gdm_motion_seg.ros.diagnostics import SHARED_MEMORY  # noqa: E402, I100
from gdm_motion_seg.ros.process import dds_environment, kill  # noqa: E402
from gdm_motion_seg.ros.segments import remove_abandoned, segments_of  # noqa: E402
from gdm_motion_seg_tools.ros.disturb import Disturbances  # noqa: E402
from gdm_motion_seg_tools.ros.session import wait_until  # noqa: E402

MIB = 2**20
PARTICIPANT = """
from gdm_motion_seg_tools.ros.session import Session
with Session('participant', private=False):
    print('up', flush=True)
    input()
"""


def new_segments(pid, before):
    """Return the segments of a process that were not there before, with a lock of their owner."""
    return {path for path in segments_of(pid)
            if path not in before and path.with_name(f'{path.name}_el').exists()}


def test_a_process_that_is_killed_leaves_no_shared_memory(session):
    before = set(Path(SHARED_MEMORY).iterdir())
    process = subprocess.Popen([sys.executable, '-c', PARTICIPANT], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={**os.environ, **dds_environment()})
    with process:
        assert process.stdout.readline() == b'up\n'
        own = new_segments(process.pid, before)
        assert [path for path in own if path.stat().st_size > 60 * MIB]
        # While the process runs, its memory is not removed.
        assert not remove_abandoned(own)
        kill(process)
    assert not [path for path in own if path.exists()]


def test_segments_of_a_living_process_are_not_removed(session):
    # Segments of killed participants stay mapped for a while, without a file.
    own = {path for path in segments_of(os.getpid()) if path.exists()}
    assert own and not remove_abandoned(own)
    assert all(path.exists() for path in own)


def test_a_segment_without_a_lock_is_not_removed(tmp_path):
    segment = tmp_path / 'fastrtps_0123456789abcdef'
    segment.touch()
    assert not remove_abandoned([segment]) and segment.exists()
    (tmp_path / f'{segment.name}_el').touch()
    assert remove_abandoned([segment]) == [segment]
    assert not list(tmp_path.iterdir())


def test_a_process_that_does_not_exist_has_no_segments():
    assert segments_of(2**22 + 1) == set()


def test_a_listener_that_is_killed_has_little_shared_memory_and_leaves_none(session):
    before = set(Path(SHARED_MEMORY).iterdir())
    with Disturbances(session, '/motion_seg', np.random.default_rng(0)) as disturbances:
        disturbances.actions()['listener killed']()
        pid = disturbances._listener.pid
        assert wait_until(lambda: new_segments(pid, before), 60)
        own = new_segments(pid, before)
        assert sum(path.stat().st_size for path in own) < 2 * MIB
    assert not [path for path in own if path.exists()]
