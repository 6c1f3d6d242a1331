# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest
from rich.console import Console

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg_tools.bench.latency import (
    measure, plot_stages, print_stages, STAGES, true_labels)
from gdm_motion_seg_tools.synth.render import render_scene


@pytest.fixture(scope='module')
def report():
    """Measure a stream that is too short for meaningful figures."""
    pytest.importorskip('poselib')
    return measure(12, 9, size=(320, 240), large=(400, 300))


def test_the_report_has_the_figures_that_are_promised(report):
    figures = report['summary']['gdm']
    assert report['benchmark'] == 'latency'
    for key in ('frame_over_t500', 'frame_all_over_t500', 'outputs_over_t500', 'cold_over_magsac',
                'segment_over_track', 'over_sequential_magsac', 'over_sequential_poselib',
                'stream_error', 'cold_error', 'magsac_error', 'poselib_error',
                'budget_overshoot_p99', 'budget_overshoot_p99_cold', 'budget_error_cold',
                'first_over_magsac', 'first_error', 'frame_all_p95_over_t500', 'growth_motions',
                'growth_points', 'growth_pixels'):
        assert np.isfinite(figures[key]) and figures[key] >= 0, key


def test_every_stage_has_its_quantiles_in_order(report):
    rows = {row['stage']: row for row in report['rows']}
    for stage in STAGES:
        assert 0 <= rows[stage]['p50_ms'] <= rows[stage]['p95_ms'] <= rows[stage]['p99_ms']


def test_the_stages_are_printed_and_drawn(report, tmp_path):
    pytest.importorskip('matplotlib')
    console = Console(record=True, width=80)
    print_stages(report['rows'], console)
    text = console.export_text()
    assert all(stage in text for stage in STAGES)
    plot_stages(report['rows'], tmp_path / 'deep' / 'stages.png')
    assert (tmp_path / 'deep' / 'stages.png').stat().st_size > 1000


def test_the_truth_is_the_body_under_both_ends_and_unknown_at_outlines():
    older, newer = render_scene('two_movers', 2, size=(160, 120))
    y, x = np.indices(newer.labels.shape).reshape(2, -1)
    everywhere = np.stack([x, y], axis=1).astype(float)
    points = Correspondences.from_arrays(everywhere, everywhere, (160, 120))
    truth = true_labels(older, newer, points)
    assert set(truth.tolist()) == {-1, 0, 1, 2}
    known = truth >= 0
    assert (truth[known] == newer.labels.ravel()[known]).all()
    assert 0.02 < np.mean(~known) < 0.5
