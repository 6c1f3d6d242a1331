# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Style, as in ROS 2."""

from pathlib import Path

import pytest

ament_flake8 = pytest.importorskip('ament_flake8.main', reason='needs ament_flake8')
ROOT = Path(__file__).resolve().parent.parent


def test_flake8_finds_nothing():
    names = ('gdm_motion_seg', 'tools', 'test', 'launch', 'setup.py')
    paths = [str(ROOT / name) for name in names]
    code, errors = ament_flake8.main_with_errors(
        argv=['--config', str(ROOT / 'setup.cfg'), *paths])
    assert code == 0, '\n'.join(errors)
