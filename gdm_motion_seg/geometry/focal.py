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

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.static_world import ray_tracks, refitted_nats, SAMPLE

STEP = 1.15
"""Factor between the focal lengths that are compared."""
RANGE = 2.2
"""Largest factor from the guess: from a fisheye's 0.55 of the longer side to a tele lens's 2.6."""
EVIDENCE = 0.2
"""Nats per track, summed over frames, by which another focal length must fit better [footage]."""
CAP = 8.0
"""Most nats of a track: 4 standard deviations."""
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

    def learn(self, x1: FloatArray, x2: FloatArray, covariance: FloatArray, pose: FloatArray,
              camera: Camera) -> None:
        """
        Compare the present focal length, that of the camera, with the next one.

        ``x1`` and ``x2`` (N, 2) are pixels of the static tracks, ``covariance`` (N, 3) is their
        position noise, and ``pose`` (4, 3) that of the rigid world: R with t below it.
        """
        self._steps.reverse()
        self._gain.reverse()
        step = self._steps[0]
        if not 1.0 / RANGE < self._factor * step < RANGE:
            return
        some = np.arange(0, len(x1), max(1, len(x1) // SAMPLE))
        present, other = (
            float(np.minimum(refitted_nats(ray_tracks(x1[some], x2[some], covariance[some], c),
                                           pose), CAP).mean())
            for c in (camera, _scaled(camera, step)))
        self._gain[0] = FORGET * self._gain[0] + present - other
        if self._gain[0] > EVIDENCE:
            self._factor *= step
            self._gain = [0.0, 0.0]


def _scaled(camera: Camera, factor: float) -> Camera:
    return replace(camera, matrix=camera.matrix * [[factor, 1.0, 1.0], [1.0, factor, 1.0],
                                                   [1.0, 1.0, 1.0]])
