# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dask imports this module in every worker of a local cluster, before the worker has a task."""

import threading
from typing import Any


def dask_setup(worker: Any) -> None:
    """Load the code meanwhile: a worker without a recording waits for the tracks of another."""
    threading.Thread(target=_load, daemon=True).start()


def _load() -> None:
    # Imported here: these imports take a second, and the worker need not wait for them.
    from gdm_motion_seg.batch import tasks  # noqa: F401
    from gdm_motion_seg.pipeline import PipelineConfig
    from gdm_motion_seg.warm_up import warm_up
    warm_up(PipelineConfig())
