# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figure of the collapsing cloud shows what the paper's figure shows."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / 'docs' / 'images' / 'make_collapsing_cloud.py'


@pytest.fixture(scope='module')
def script():
    """Load the script that draws the figure."""
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_ball_has_three_dimensions_a_disc_two_and_a_segment_one(script):
    _, curves = script.collapse(5000, 11)
    for values in curves.values():
        assert values[[0, 10, 11, 21]] == pytest.approx([3, 2, 2, 1], abs=0.08)


def test_the_dimension_falls_smoothly_and_a_small_epsilon_holds_it_up_longest(script):
    _, curves = script.collapse(5000, 11)
    for values in curves.values():
        assert (np.diff(values) <= 1e-3).all()
    ordered = np.array([curves[epsilon][1:10] for epsilon in sorted(curves)])
    assert (np.diff(ordered, axis=0) < 0).all()


def test_the_figure_can_be_drawn(script, tmp_path):
    pytest.importorskip('matplotlib')
    script.draw(tmp_path / 'cloud.png')
    assert (tmp_path / 'cloud.png').stat().st_size > 10_000
