# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of the node: its figures, and a short run."""

import argparse
import os
import subprocess
import sys

import pytest

from gdm_motion_seg_tools.bench import node
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions


def test_latency_is_measured_in_periods_of_the_camera():
    rows = [{'answered': i < 3, 'latency_s': 0.1 if i < 3 else None, 'keypoints': 100 * i,
             'sent_late_s': 0.02 * (i == 0)} for i in range(4)]
    figures = node.summarise(rows, 30.0)
    assert figures['keypoints'] == 100.0
    assert figures['frames_answered'] == 0.75
    assert figures['images_sent_late'] == 0.25
    assert figures['latency_p95_over_period'] == pytest.approx(3.0)


def test_without_any_result_the_latency_is_infinite():
    assert node.summarise([], 30.0)['latency_p50_over_period'] == float('inf')


def test_figures_with_a_viewer_are_relative_to_those_without():
    alone = {'frames_answered': 0.8, 'latency_p95_over_period': 2.0}
    viewed = {'frames_answered': 0.6, 'latency_p95_over_period': 3.0}
    figures = node.compare_viewed(alone, viewed)
    assert figures == pytest.approx({'frames_answered_viewed': 0.75, 'latency_p95_viewed': 1.5})


def test_on_one_core_restricts_threads_and_processes_and_restores_the_cores():
    before = os.sched_getaffinity(0)
    ask = [sys.executable, '-c', 'import os; print(len(os.sched_getaffinity(0)))']
    with node.on_one_core():
        assert len(os.sched_getaffinity(0)) == 1
        assert subprocess.check_output(ask).strip() == b'1'
    assert os.sched_getaffinity(0) == before


def test_a_short_scene_is_played_through_the_node(monkeypatch):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    monkeypatch.setattr(node, 'OPTIONS', SceneOptions('small_mover', 20, (320, 240), 10.0))
    monkeypatch.setattr(node, 'LARGE', SceneOptions('small_mover', 12, (640, 360), 10.0))
    report = node.run(argparse.Namespace())
    assert len(report['rows']) == 20 * node.ROUNDS
    for name in ('one_core', '1080p'):
        assert report['summary']['gdm'][f'frames_answered_{name}'] > 0.0
    assert report['summary']['gdm']['frames_answered'] > 0.0
    assert report['summary']['gdm']['cpu_cores'] > 0.0
    assert report['summary']['gdm']['frames_answered_viewed'] > 0.0
