# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The focal length of a camera that is not calibrated, learned from the static world.

A wrong focal length bends the epipolar lines of a camera that turns and moves: near static things
then contradict the world, and a large body fits it. Only relative evidence counts: while nothing
tells focal lengths apart, the guess stays.
"""

from dataclasses import replace

import numpy as np

from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.segmentation.constants import CAP
from gdm_motion_seg.segmentation.graph import Mask
from gdm_motion_seg.segmentation.world import refitted_nats, tracks_of_gap
from gdm_motion_seg.tracking.window import Window

STEP = 1.15
"""Factor between the focal lengths that are compared."""
RANGE = 2.2
"""Largest factor from the guess: from a fisheye's 0.55 of the longer side to a tele lens's 2.6."""
EVIDENCE = 0.2
"""Nats per track, summed over frames, by which another focal length must fit better [footage]."""
FORGET = 0.95
"""Share of the evidence that is kept from frame to frame."""


class FocalLength:
    """Tries a longer and a shorter focal length in turn and takes the one that fits better."""

    def __init__(self) -> None:
        """Begin with the guess."""
        self._factor = 1.0
        self._steps = [STEP, 1.0 / STEP]
        self._gain = [0.0, 0.0]

    def applied_to(self, camera: Camera) -> Camera:
        """Return the camera with the focal length learned so far, if it is not calibrated."""
        return _scaled(camera, self._factor) if camera.is_guess else camera

    def learn(self, window: Window, static: Mask, pose: FloatArray, camera: Camera) -> None:
        """
        Compare the present focal length with the next one on the pair's static tracks.

        Parameters
        ----------
        window : Window
            The tracks.
        static : (N,) array
            Tracks of the world.
        pose : (4, 3) array
            Of the rigid world over the pair's gap: R with t below it.
        camera : Camera
            With the present focal length.

        """
        self._steps.reverse()
        self._gain.reverse()
        step = self._steps[0]
        if not 1.0 / RANGE < self._factor * step < RANGE:
            return
        present, other = (_mean_cost(window, static, pose, c)
                          for c in (camera, _scaled(camera, step)))
        self._gain[0] = FORGET * self._gain[0] + present - other
        if self._gain[0] > EVIDENCE:
            self._factor *= step
            self._gain = [0.0, 0.0]


def _scaled(camera: Camera, factor: float) -> Camera:
    return replace(camera, matrix=camera.matrix * [[factor, 1.0, 1.0], [1.0, factor, 1.0],
                                                   [1.0, 1.0, 1.0]])


def _mean_cost(window: Window, static: Mask, pose: FloatArray, camera: Camera) -> float:
    """Return the mean nats of the static tracks under the pose that fits them best."""
    tracks = tracks_of_gap(window, 0, camera)
    nats = refitted_nats(tracks, static[tracks.index].astype(np.float64), pose)
    return float(np.minimum(nats, CAP).mean())
