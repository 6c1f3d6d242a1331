# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The measurement of the engine, on little data; no timing decides anything here."""

import numpy as np
import pytest

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg_tools.bench import engine


def test_engine_and_transcription_give_the_same_result_and_all_keys_exist():
    row = engine.measure(0, engine.load_plain(), n_points=30, n_many=60, n_restarts=2)
    assert row['same_labels'] == 1.0 and row['difference'] < 1e-9
    summary = engine.summarise([row, row])
    assert {'speedup', 'growth', 'ms'} <= set(summary)
    assert all(np.isfinite(value) and value > 0 for value in summary.values())


def test_without_the_source_tree_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(engine, 'PLAIN', tmp_path / 'plain_algorithm1.py')
    with pytest.raises(MissingDependencyError, match='source tree'):
        engine.load_plain()
