# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rendered scenes with known motions: textured solids, a moving camera, ground truth."""

from gdm_motion_seg_tools.synth.render import render_scene, RenderedFrame, Renderer
from gdm_motion_seg_tools.synth.scenes import Scene, scene_named, SCENE_NAMES
from gdm_motion_seg_tools.synth.score import Score, Scorer
from gdm_motion_seg_tools.synth.truth import BodyMotion, Truth, UNSCORED

__all__ = ['BodyMotion', 'render_scene', 'RenderedFrame', 'Renderer', 'Scene', 'SCENE_NAMES',
           'scene_named', 'Score', 'Scorer', 'Truth', 'UNSCORED']
