# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rendered footage: a still camera, static scenes, large movers; every pixel has ground truth."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.geometry.correspondences import IntArray
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named
from gdm_motion_seg_tools.synth.score import Scorer
from gdm_motion_seg_tools.synth.truth import Truth

SIZE, FPS = (640, 480), 30.0
STILL_CAMERA, STATIC, LARGE = 'still_camera', ('driving', 'turning', 'zooming', 'resting'), (
    'bus', 'leader', 'big2')
FRAMES = {STILL_CAMERA: 144} | dict.fromkeys(STATIC, 90) | dict.fromkeys(LARGE, 120)
LEAST = 5
"""Smallest number of keypoints of a body that is counted in a frame."""


@dataclass(frozen=True)
class Scored:
    """One result and the ground truth of its keypoints."""

    result: FrameResult
    truth: IntArray
    """(N,) 0 world, > 0 bodies that move, UNSCORED."""


def play(name: str, seed: int = 0) -> tuple[list[Scored], Truth]:
    """Render a scene and run it through a pipeline with the node's defaults."""
    renderer = Renderer(scene_named(name), SIZE, FPS, seed)
    truth = Truth.of_scene(renderer.scene, renderer.camera_at(0.0))
    pipeline = MotionPipeline(NodeConfig())
    answers = []
    for index in range(FRAMES[name]):
        frame = renderer.frame(index)
        truth.add(frame)
        result = pipeline.process(frame.image, frame.stamp)
        if result.has_pair:
            labels = truth.point_labels(result.previous_stamp, result.stamp,
                                        result.correspondences.x2)
            answers.append(Scored(result, labels))
    return answers, truth


def found_in(scored: Scored) -> Iterator[tuple[int, bool]]:
    """Yield each moving body of a frame, and whether most of its keypoints are in one body."""
    for body in np.unique(scored.truth[scored.truth > 0]).tolist():
        ids = scored.result.labels[scored.truth == body]
        if len(ids) >= LEAST:
            names = ids[ids > 0]
            yield body, len(names) > 0 and np.bincount(names).max() >= 0.5 * len(ids)


def still_camera() -> dict[str, float]:
    """Measure a camera that rests, moves and rests."""
    answers, truth = play(STILL_CAMERA)
    scorer = Scorer(truth)
    for a in answers:
        scorer.add(a.result.previous_stamp, a.result.stamp, a.result.correspondences.x2,
                   a.result.labels)
    found = [hit for a in answers for _, hit in found_in(a)]
    score = scorer.score()
    return {'still_labels_right': score.share_right, 'still_found': float(np.mean(found)),
            'still_id_switches': float(score.id_changes)}


def moving_share(answers: list[Scored]) -> float:
    """Return the share of the static keypoints that are reported to move."""
    said = np.concatenate([a.result.moving[a.truth == 0] > 0.5 for a in answers])
    return float(said.mean())


def longest_miss(answers: list[Scored]) -> int:
    """Return the largest number of frames in a row in which a body was missed."""
    longest, running = 0, dict[int, int]()
    for a in answers:
        for body, hit in found_in(a):
            running[body] = 0 if hit else running.get(body, 0) + 1
            longest = max(longest, running[body])
    return longest


def measure_rendered() -> Report:
    """Measure every rendered scene."""
    figures, rows = still_camera(), list[Row]()
    for name in STATIC:
        answers, _ = play(name)
        rows.append({'clip': name, 'moving_share': moving_share(answers)})
    figures['static_moving'] = float(np.mean([row['moving_share'] for row in rows]))
    figures['static_moving_worst'] = max(row['moving_share'] for row in rows)
    for name in LARGE:
        answers, _ = play(name)
        rows.append({'clip': name, 'longest_miss': longest_miss(answers),
                     'moving_share': moving_share(answers)})
    figures['large_longest_miss'] = float(max(row.get('longest_miss', 0) for row in rows))
    return make_report('footage', {'gdm': figures}, rows)
