# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""One motion: its points and their two-view geometry."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.gdm.empirical import gram_dimension
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed, pixel_unit
from gdm_motion_seg.geometry.fundamental import (
    fit_fundamental_robust, MIN_POINTS, sampson_distances)
from gdm_motion_seg.geometry.homography import (
    flow_to_older, homography_distances, normalize_homography)
from gdm_motion_seg.geometry.kind import classify_motion, MotionKind
from gdm_motion_seg.geometry.numerics import median, noise_scale
from gdm_motion_seg.geometry.pose import fundamental_of, recover_pose

WORLD = 0
"""The id of the static world, always."""
EPSILON = 0.35
"""Strictness of the empirical dimension, as by default in GdmConfig."""
KAPPA_SIGMAS = 3.0
"""kappa over the noise. Real residuals have heavy tails: with the true members of the motions of
AdelaideRMF and Hopkins155, 2.5 loses 2.8 and 3.3 % of all points, 3.0 loses 2.2 and 2.3 %, for
0.2 % more outliers kept."""
KAPPA_FLOOR_PX = 0.5
"""Smallest kappa at 640 pixels: below, a lens that is not quite a pinhole makes outliers."""
NON_RIGID_PX = 1.5
"""Median Sampson distance, at 640 pixels, above which a body is not rigid."""
KAPPA_CEILING_PX = 6.0
"""Largest kappa at 640 pixels: a motion with more noise than that has swallowed another one."""


@dataclass(frozen=True)
class Motion:
    """One rigid motion and its two-view geometry, x2^T F x1 = 0 in pixels."""

    id: int
    """Identity over time: 0 (WORLD) is the static world, bodies count from 1."""
    members: IntArray
    """Indices of its points."""
    kind: MotionKind
    reason: str
    """Why it is of that kind, in a sentence."""
    fundamental: FloatArray
    """(3, 3), rank 2, unit Frobenius norm; NaN if TOO_FEW. Not unique unless GENERAL."""
    homography: FloatArray
    """(3, 3), H33-normalised where possible; NaN if none fits the motion."""
    dimension: float
    """Empirical dimension of its embedded points (the paper's d-hat)."""
    residual: float
    """Median distance of its points in pixels; infinite if nothing could be fitted."""
    threshold: float
    """kappa: the largest distance of an inlier, in pixels."""
    rotation: FloatArray = field(default_factory=lambda: np.full((3, 3), np.nan))
    """(3, 3) rotation of the calibrated form; NaN where it is not determined."""
    translation: FloatArray = field(default_factory=lambda: np.full(3, np.nan))
    """(3,) direction of translation; NaN where it is not determined."""
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Left, top, right and bottom of its points in the newer image, in pixels."""
    moving: float = 0.0
    """How sure it is that it moves against the world: the mean over its points, in [0, 1]."""
    since: int = 0
    """Stamp of the frame in which its id was given, in nanoseconds."""
    by_homography: bool = False
    """Whether distances are from the homography: too few points for F, or a smooth world."""

    @property
    def is_world(self) -> bool:
        """Whether this is the static world."""
        return self.id == WORLD

    @property
    def count(self) -> int:
        """Count its points."""
        return len(self.members)

    @property
    def fundamental_is_unique(self) -> bool:
        """Whether the points determine F."""
        return self.kind is MotionKind.GENERAL


def estimate_motion(correspondences: Correspondences, members: IntArray, motion_id: int,
                    camera: Camera | None = None) -> Motion:
    """
    Estimate everything that is told about one motion from the points that follow it.

    The correspondences are undistorted where the lens is known; a few wrong members do no harm.
    The camera's K is used for (R, t); it is the usual guess by default. The kind is TOO_FEW where
    there are fewer than eight different points.
    """
    index = np.ascontiguousarray(members, np.int64)
    points = correspondences.take(index)
    camera = camera or Camera.guess(correspondences.image_size)
    fundamental, translation = np.full((3, 3), np.nan), np.full(3, np.nan)
    if len(points) >= MIN_POINTS:
        fundamental = fit_fundamental_robust(points.x1, points.x2, pixel_unit(points.image_size))
    decision = classify_motion(points.x1, points.x2, fundamental, camera)
    rotation, distances = decision.rotation, np.zeros(0)
    if decision.kind is not MotionKind.TOO_FEW:
        distances = sampson_distances(fundamental, points.x1, points.x2)
    else:
        fundamental = np.full((3, 3), np.nan)
        if np.isfinite(decision.homography).all():
            distances = homography_distances(decision.homography, points.x1, points.x2)
    if decision.kind is MotionKind.GENERAL:
        pose = recover_pose(fundamental, points.x1, points.x2, camera.matrix, decision.noise_px)
        rotation, translation = pose[:3], pose[3]
    return Motion(motion_id, index, decision.kind, decision.reason, fundamental,
                  decision.homography, *_measures(points, distances), rotation, translation,
                  by_homography=decision.kind is MotionKind.TOO_FEW)


def world_motion(pair: Correspondences, members: IntArray, pose: FloatArray,
                 flow: FloatArray | None, camera: Camera) -> Motion:
    """
    Describe the world: a rigid motion, or a smooth flow that has no parallax.

    ``pose`` (4, 3) is R with t below it; ``flow`` has the eight parameters of the smooth flow, and
    is None where the world has parallax.
    """
    points, fundamental = pair.take(members), fundamental_of(pose, camera.matrix)
    if flow is None:
        distances = sampson_distances(fundamental, points.x1, points.x2)
        return Motion(WORLD, members, MotionKind.GENERAL, 'the world has parallax', fundamental,
                      np.full((3, 3), np.nan), *_measures(points, distances), pose[:3], pose[3])
    homography = np.asarray(np.linalg.inv(flow_to_older(flow, camera.matrix)), np.float64)
    homography = normalize_homography(homography)
    distances = homography_distances(homography, points.x1, points.x2)
    return Motion(WORLD, members, MotionKind.NO_PARALLAX, 'one smooth flow explains the world',
                  fundamental, homography, *_measures(points, distances), by_homography=True)


def body_motion(pair: Correspondences, members: IntArray, motion_id: int,
                camera: Camera) -> Motion:
    """Estimate the motion of a body; its kind is NON_RIGID where no rigid motion explains it."""
    motion = estimate_motion(pair, members, motion_id, camera=camera)
    limit = NON_RIGID_PX * pixel_unit(pair.image_size)
    if motion.kind is MotionKind.TOO_FEW or motion.residual <= limit:
        return motion
    nothing = np.full((3, 3), np.nan)
    return replace(motion, kind=MotionKind.NON_RIGID, fundamental=nothing, homography=nothing,
                   rotation=nothing, translation=np.full(3, np.nan),
                   reason=f'no rigid motion explains it: median residual {motion.residual:.1f} px')


def motion_distances(motion: Motion, points: Correspondences) -> FloatArray:
    """Return the distances of points from F or the homography, in pixels; infinite without."""
    geometry = motion.homography if motion.by_homography else motion.fundamental
    if not np.isfinite(geometry).all():
        return np.full(len(points), np.inf)
    distances = homography_distances if motion.by_homography else sampson_distances
    return distances(geometry, points.x1, points.x2)


def track_residuals(motions: Iterable[Motion], labels: IntArray,
                    points: Correspondences) -> FloatArray:
    """Return the distance of each point from its motion; of a wrong match from the nearest."""
    residuals = np.full(len(points), np.inf)
    for motion in motions:
        # Of all points: numba would compile once more for an array of a single wrong match.
        distances = motion_distances(motion, points)
        residuals[motion.members] = distances[motion.members]
        np.minimum(residuals, distances, out=residuals, where=labels < 0)
    return residuals


def _measures(points: Correspondences, distances: FloatArray) -> tuple[float, float, float]:
    """Return dimension, residual and threshold of a motion from its points."""
    # Of the Gram matrix, in a third of the time of an SVD.
    vectors = embed(points)
    return (gram_dimension(vectors.T @ vectors, EPSILON),
            median(distances) if len(distances) else np.inf,
            inlier_threshold(distances, pixel_unit(points.image_size)))


def inlier_threshold(distances: FloatArray, unit: float) -> float:
    """Return the threshold kappa of a motion from its own residuals, in pixels."""
    kappa = KAPPA_SIGMAS * noise_scale(distances, unit, 1, 7)
    return min(max(kappa, KAPPA_FLOOR_PX * unit), KAPPA_CEILING_PX * unit)
