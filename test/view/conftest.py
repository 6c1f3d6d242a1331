# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A small scene and a browser."""

from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest

from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene


@pytest.fixture(scope='session')
def three_bodies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag in which three bodies move."""
    folder = tmp_path_factory.mktemp('view') / 'three_movers'
    write_scene(folder, SceneOptions('three_movers', 36, (320, 240)))
    return folder


@pytest.fixture(scope='module')
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    """Return a real browser."""
    if chromium.find() is None:
        pytest.skip('no Chromium is installed (Debian package: chromium)')
    with chromium.Browser(tmp_path_factory.mktemp('profile')) as this:
        yield this
