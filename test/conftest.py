# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of several test folders: small rendered scenes, made once per run."""

from pathlib import Path

from hypothesis import settings
import pytest

from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.warm_up import warm_up
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene
from gdm_motion_seg_tools.synth.truth import Truth

SMALL = (320, 240)

# The examples are the same every time, so a failure can be reproduced. `make fuzz` tries new ones.
settings.register_profile('suite', derandomize=True, deadline=None)
settings.load_profile('suite')


@pytest.fixture(scope='session')
def compiled(small_bag: tuple[Path, Truth]) -> None:
    """
    Compile once into the cache on disk, which other processes use.

    They then print no messages about compilation.
    """
    warm_up(NodeConfig())


@pytest.fixture(scope='session')
def small_bag(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    """Return a bag (mcap) of 16 small frames with two movers, and its truth."""
    folder = tmp_path_factory.mktemp('scenes') / 'two_movers'
    write_scene(folder, SceneOptions('two_movers', 16, SMALL))
    return folder, Truth.load(folder)
