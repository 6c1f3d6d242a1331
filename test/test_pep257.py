# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Docstrings, as in ROS 2."""

from pathlib import Path

import pytest

ament_pep257 = pytest.importorskip('ament_pep257.main', reason='needs ament_pep257')
ROOT = Path(__file__).resolve().parent.parent


def test_pep257_finds_nothing():
    names = ('gdm_motion_seg', 'tools', 'test', 'launch', 'setup.py')
    paths = [str(ROOT / name) for name in names]
    assert ament_pep257.main(argv=paths) == 0
