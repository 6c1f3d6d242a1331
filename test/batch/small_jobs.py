# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings that make a batch fast enough for a test."""

from pathlib import Path
from typing import Any

from gdm_motion_seg.batch.job import Job, make_job
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import with_flat

SETTINGS = {'tracking.max_tracks': 150, 'tracking.frame_gap': 3}
FLAGS = [word for name, value in SETTINGS.items() for word in ('--set', f'{name}={value}')]
"""The same for a command line."""
SIZE = (240, 180)


def small_job(out: Path | str, **values: Any) -> Job:
    """Return a job with settings that make it fast."""
    return make_job(str(out), with_flat(NodeConfig(), SETTINGS), run='test', **values)
