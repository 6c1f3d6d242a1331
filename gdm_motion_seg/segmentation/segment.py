# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two arrays of pixels in, rigid motions out."""

from dataclasses import replace
import math
import time

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm.dimension import hard_dimensions
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.geometry.motion import estimate_motion, track_residuals
from gdm_motion_seg.geometry.rigid import rigid_costs
from gdm_motion_seg.segmentation.config import AUTO, SegmentationConfig
from gdm_motion_seg.segmentation.constants import SEARCHED, Weights
from gdm_motion_seg.segmentation.energy import descend, Problem
from gdm_motion_seg.segmentation.problem import pose_problem
from gdm_motion_seg.segmentation.result import MotionSegmentation, OUTLIER
from gdm_motion_seg.segmentation.solver import Partition, Solver

FEWEST_POINTS = 8
"""Points below which nothing can be told."""
SECONDS_PER_POINT = 8e-6
"""Time of a budget to set aside for labels of all points and the geometry of the motions."""


def segment_motions(x1: npt.ArrayLike, x2: npt.ArrayLike, image_size: tuple[int, int],
                    config: SegmentationConfig | None = None,
                    rng: np.random.Generator | int | None = None,
                    camera: Camera | None = None) -> MotionSegmentation:
    """
    Segment point correspondences into rigid motions.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels of the same points in the older and the newer frame.
    image_size : (width, height)
        Of the image, in pixels; points may lie outside.
    config : SegmentationConfig
        Settings; by default the number of motions is found.
    rng : numpy Generator or seed
        Same seed, same answer.
    camera : Camera, optional
        Its matrix where it is known; a guess from the image size serves nearly as well.

    Returns
    -------
    MotionSegmentation
        With a reason where there is no answer.

    """
    return segment_correspondences(Correspondences.from_arrays(x1, x2, image_size), config, rng,
                                   camera=camera)


def segment_correspondences(correspondences: Correspondences,
                            config: SegmentationConfig | None = None,
                            rng: np.random.Generator | int | None = None,
                            camera: Camera | None = None) -> MotionSegmentation:
    """Segment validated correspondences."""
    config = config or SegmentationConfig()
    start = time.perf_counter()
    n = len(correspondences)
    reason = _why_not(correspondences, config)
    if reason:
        return MotionSegmentation.empty(n, reason)
    deadline = math.inf
    if config.time_budget_ms:
        deadline = start + 1e-3 * config.time_budget_ms - SECONDS_PER_POINT * n
    problem = pose_problem(correspondences, camera)
    rng, was_short = np.random.default_rng(rng), False
    value = math.nan
    if config.method == 'gdm':
        found, was_short = _search(correspondences, problem, config, rng, camera, deadline)
        labels, value = _answer(problem, found, Weights())
    else:
        # Imported here: only these methods need the engine of the paper.
        from gdm_motion_seg.segmentation.paper import partition_as_in_paper
        labels = partition_as_in_paper(np.ascontiguousarray(problem.vectors.T), config, rng)
    answer = _describe(correspondences, problem, labels, config, camera)
    answer.diagnostics.update(energy=value, seconds=time.perf_counter() - start)
    if was_short:
        reason = 'the time budget ended the search early'
        return replace(answer, reason=f'{reason}: {answer.reason}' if answer.reason else reason,
                       complete=False)
    return answer


def _search(c: Correspondences, problem: Problem, config: SegmentationConfig,
            rng: np.random.Generator, camera: Camera | None,
            deadline: float) -> tuple[Partition, bool]:
    """
    Search the partition; also tell whether the deadline ended the search.

    Of many points a part is searched, and all are assigned to the motions that were found.
    """
    n, weights = len(c), Weights()
    dense = n > 3 * SEARCHED
    some = np.sort(rng.choice(n, SEARCHED, replace=False)) if dense else np.arange(n)
    solver = Solver(pose_problem(c.take(some), camera) if dense else problem, weights, rng,
                    config.n_motions, effort=config.effort, deadline=deadline)
    found = solver.partition()
    if dense:
        costs = rigid_costs(found.motions, problem.rays, problem.precision, some, weights.outlier)
        labels = np.vstack([np.full(n, weights.outlier), costs]).argmin(axis=0) - 1
        found = Partition(*descend(problem, labels, found.motions, weights, 8))
    return found, solver.was_short


def _why_not(c: Correspondences, config: SegmentationConfig) -> str:
    """Say why no segmentation is possible, or nothing."""
    if config.method != 'gdm' and config.n_motions == AUTO:
        raise InputError(f'n_motions must be given with the method {config.method}, got 0 (auto)')
    n = len(c)
    if n < FEWEST_POINTS:
        return f'{n} points are too few, {FEWEST_POINTS} are needed'
    if config.n_motions * FEWEST_POINTS > n:
        return (f'n_motions is {config.n_motions}, but {n} points allow '
                f'{n // FEWEST_POINTS} motions at most')
    if (np.ptp(c.x1, axis=0) == 0.0).all():
        return 'all points lie at the same place'
    return ''


def _answer(problem: Problem, found: Partition, weights: Weights) -> tuple[IntArray, float]:
    """
    Return labels and J, the largest motion first; no motion if chance would do.

    What lies too far from its motion is an outlier. The search tolerates it, because the residuals
    of a motion that is not fitted yet have heavy tails.
    """
    n = problem.rays.shape[1]
    if found.n_motions == 0 or not _is_more_than_chance(problem, found, weights):
        return np.full(n, OUTLIER), math.nan
    counts = np.bincount(found.labels[found.labels >= 0], minlength=found.n_motions)
    order = np.argsort(-counts, kind='stable')
    rank = np.empty(found.n_motions + 1, np.int64)
    rank[order], rank[-1] = np.arange(found.n_motions), OUTLIER
    far = found.costs[found.labels, np.arange(n)] > weights.far
    return np.where(far, OUTLIER, rank[found.labels]), found.energy


def _is_more_than_chance(problem: Problem, found: Partition, weights: Weights) -> bool:
    """
    Tell whether the largest motion has more points than chance gives the best of all motions.

    The number of false alarms of Moisan and Stival: of N random points, k lie within a band of
    relative width w around their epipolar lines, five of which every motion gets for nothing.
    """
    n = len(found.labels)
    inliers = (found.costs <= weights.core) & (found.labels == np.arange(found.n_motions)[:, None])
    k = int(inliers.sum(axis=1).max())
    if k <= 5:
        return False
    extent = float(np.linalg.norm(np.ptp(problem.rays[2:], axis=1))) + 1e-12
    half = math.sqrt(2.0 * weights.core / problem.precision.mean())
    w = min(2.0 * half / extent, 1.0)
    return bool(math.log(n) + _log_choose(n, k) + _log_choose(k, 5) + (k - 5) * math.log(w) < 0.0)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _describe(c: Correspondences, problem: Problem, labels: IntArray, config: SegmentationConfig,
              camera: Camera | None) -> MotionSegmentation:
    """Estimate the geometry of every motion and judge every point by it."""
    n_motions = int(labels.max(initial=-1)) + 1
    motions = tuple(estimate_motion(c, np.flatnonzero(labels == k), k, camera)
                    for k in range(n_motions))
    dimensions = hard_dimensions(np.ascontiguousarray(problem.vectors.T), labels, n_motions,
                                 config.gdm.epsilon)
    value = float(np.linalg.norm(dimensions, config.gdm.p)) if n_motions else math.nan
    return MotionSegmentation(
        labels, motions, track_residuals(motions, labels, c),
        reason='' if n_motions else 'no motion has more points than chance would give it',
        global_dimension=value)
