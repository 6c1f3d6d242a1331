# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Errors of the calibrated pose of the world, on rendered scenes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.poses import motion_pose
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named
from gdm_motion_seg_tools.synth.truth import Truth

SCENES = ('static_world', 'small_mover', 'two_movers', 'three_movers', 'planar_motion',
          'pure_rotation', 'bus', 'leader', 'big2', 'driving', 'turning')
"""Scenes with a camera that moves and does not zoom; K is known."""
SIZE, FPS, FRAMES = (640, 480), 30.0, 60
LEAST_SHIFT = 0.01
"""Translation in metres below which the direction is not compared."""


@dataclass(frozen=True)
class PoseError:
    """The error of one pose of the world in degrees, and the error that was stated."""

    rotation: float
    direction: float
    """NaN if the camera only turned, or if the result has no direction."""
    stated_rotation: float
    stated_direction: float


def measure_poses(scenes: Sequence[str] = SCENES, frames: int = FRAMES, seed: int = 0
                  ) -> tuple[dict[str, float], list[Row]]:
    """Return the summary over all pairs of all scenes, and a row per scene."""
    rows, everything = list[Row](), list[PoseError | None]()
    for name in scenes:
        found = list(pose_errors(name, frames, seed))
        rows.append({'method': 'gdm', 'pair': name, 'mode': 'pose', **summarise_poses(found)})
        everything += found
    return summarise_poses(everything), rows


def pose_errors(name: str, frames: int = FRAMES, seed: int = 0) -> Iterator[PoseError | None]:
    """Run a rendered scene with its calibration; yields an error per pair, None without a pose."""
    renderer = Renderer(scene_named(name), SIZE, FPS, seed)
    truth = Truth.of_scene(renderer.scene, renderer.camera)
    config = NodeConfig()
    pipeline = MotionPipeline(config, config.seed)
    pipeline.camera = Camera(renderer.camera, np.zeros(0), '', SIZE)
    for index in range(frames):
        frame = renderer.frame(index)
        truth.add(frame)
        result = pipeline.process(frame.image, frame.stamp)
        if result.has_pair:
            yield pose_error(result, truth, renderer.camera)


def pose_error(result: FrameResult, truth: Truth, camera: FloatArray) -> PoseError | None:
    """Compare the pose of the world with the ground truth; None if there is no pose."""
    pose = None if result.world is None else motion_pose(
        result.world, result.correspondences, camera)
    if pose is None:
        return None
    true = truth.motion(result.previous_stamp, result.stamp, 0)
    direction = float('nan')
    if pose.has_translation and np.linalg.norm(true.translation) > LEAST_SHIFT:
        direction = angle_between(pose.translation, true.translation)
    return PoseError(turn_between(pose.rotation, true.rotation), direction,
                     pose.rotation_error_deg, pose.direction_error_deg)


def summarise_poses(errors: Sequence[PoseError | None]) -> dict[str, float]:
    """Return medians and 90th percentiles, and the share of pairs with a pose."""
    known = [error for error in errors if error is not None]
    directed = [error for error in known if np.isfinite(error.direction)]
    summary = {'pose_pairs': float(len(errors)), 'pose_share': len(known) / max(1, len(errors)),
               'direction_share': len(directed) / max(1, len(errors))}
    for name, values in (
            ('rotation_error_deg', [error.rotation for error in known]),
            ('direction_error_deg', [error.direction for error in directed]),
            ('stated_rotation_error_deg', [error.stated_rotation for error in known]),
            ('stated_direction_error_deg', [error.stated_direction for error in directed])):
        if values:
            summary[name] = float(np.median(values))
            summary[f'{name}_90'] = float(np.quantile(values, 0.9))
    return summary


def angle_between(a: FloatArray, b: FloatArray) -> float:
    """Return the angle between two vectors in degrees."""
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)))


def turn_between(a: FloatArray, b: FloatArray) -> float:
    """Return the angle of the rotation between two rotations in degrees."""
    turn = a @ b.T
    sine = np.linalg.norm([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0],
                           turn[1, 0] - turn[0, 1]])
    return float(np.degrees(np.arctan2(sine, np.trace(turn) - 1.0)))
