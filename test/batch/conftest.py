# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings and clusters that are small enough for a test."""

from collections.abc import Iterator
from pathlib import Path
import shutil

import pytest
from small_jobs import SIZE

from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene


@pytest.fixture(scope='session')
def tiny_bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three short bags."""
    folder = tmp_path_factory.mktemp('tiny')
    for i in range(3):
        write_scene(folder / f'bag{i}', SceneOptions('small_mover', 10, SIZE, seed=i))
        shutil.rmtree(folder / f'bag{i}' / 'truth')
    return folder


@pytest.fixture(scope='session')
def long_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of ten seconds, at a low rate so that tests are fast."""
    folder = tmp_path_factory.mktemp('long') / 'long'
    write_scene(folder, SceneOptions('small_mover', 150, SIZE, fps=15.0))
    shutil.rmtree(folder / 'truth')
    return folder


@pytest.fixture
def in_process_scheduler() -> Iterator[str]:
    """Return the address of a scheduler with two workers that are threads of this process."""
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False,
                                  dashboard_address=None) as cluster:
        yield cluster.scheduler_address
