# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""After the warm-up, no image waits for the compiler."""

import subprocess
import sys

import pytest

NEWLY_COMPILED = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg.poses import motion_pose
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.viz.overlay import draw_overlay
from gdm_motion_seg.warm_up import warm_up
from gdm_motion_seg_tools.synth import Renderer, scene_named

def kernels():
    return {(name, id(value)): value for module in list(sys.modules.values())
            if module.__name__.startswith('gdm_motion_seg.')
            for name, value in vars(module).items() if isinstance(value, Dispatcher)}

def signatures():
    return {(name, str(types)) for (name, _), kernel in kernels().items()
            for types in kernel.overloads}

warm_up(NodeConfig())
before, bodies = signatures(), 0
# Of functions that may be reordered, every signature in the cache is loaded.
twice = [name for (name, _), kernel in kernels().items()
         if len(kernel.overloads) > 1 and 'fastmath' not in kernel.targetoptions]
assert not twice, f'compiled for several signatures: {twice}'
pipeline, masks = MotionPipeline(), MotionMasks()
SIZE = 320, 240
renderer = Renderer(scene_named(sys.argv[1]), SIZE)
for index in range(12):
    frame = renderer.frame(index)
    if index == 8:
        pipeline.camera = Camera(frame.camera, np.array([0.1, 0, 0, 0, 0]), 'plumb_bob', SIZE)
    result = pipeline.process(frame.image, frame.stamp)
    masks.process(frame.image, result)
    draw_overlay(frame.image, result)
    bodies += sum(not motion.is_world for motion in result.motions)
    if result.undistorted is not None:
        for motion in result.motions:
            motion_pose(motion, result.undistorted, frame.camera)
assert result.undistorted is not None
new = sorted(signatures() - before)
assert bodies or sys.argv[1] == 'resting', 'nothing moved, so this proves little'
print(*(name for name, _ in new))
"""


@pytest.mark.parametrize('scene', ['two_movers', 'resting'])
def test_after_the_warm_up_nothing_is_compiled(scene):
    done = subprocess.run([sys.executable, '-c', NEWLY_COMPILED, scene], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
