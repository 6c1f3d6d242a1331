# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The motions of a window's pair: the geometry of the world and of every body."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.motion import body_motion, track_residuals, world_motion
from gdm_motion_seg.segmentation.result import MotionSegmentation, WORLD
from gdm_motion_seg.segmentation.world import GapWorld


def estimate_motions(pair: Correspondences, labels: IntArray, moving: FloatArray,
                     world: GapWorld | None, camera: Camera,
                     since: Callable[[int], int]) -> MotionSegmentation:
    """
    Estimate the motion of the world and of every body over a pair, undistorted if possible.

    ``labels`` are the (N,) ids of the tracks' motions or OUTLIER, and ``moving`` says how sure it
    is that each track moves. ``world`` is None if it could not be estimated. ``since`` gives the
    stamp of the frame in which an id was given.
    """
    motions = []
    for motion_id in np.unique(labels[labels >= WORLD]).tolist():
        members = np.flatnonzero(labels == motion_id)
        if motion_id == WORLD and world is not None:
            motion = world_motion(pair, members, world.motion,
                                  world.flow if world.smooth_share > 0.5 else None, camera)
        else:
            motion = body_motion(pair, members, motion_id, camera)
        low, high = pair.x2[members].min(axis=0), pair.x2[members].max(axis=0)
        motions.append(replace(motion, box=(*low.tolist(), *high.tolist()),
                               moving=float(moving[members].mean()), since=since(motion_id)))
    reason = ''
    if not motions:
        reason = 'no motion explains the tracks'
    elif not motions[0].is_world:
        reason = 'none of the motions is the static world'
    return MotionSegmentation(labels, tuple(motions), track_residuals(motions, labels, pair),
                              moving=moving, reason=reason)
