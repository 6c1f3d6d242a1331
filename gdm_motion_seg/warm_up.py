# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compile and load everything before the first image or the first body, which would wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
import gc
import threading

import cv2
import numpy as np

from gdm_motion_seg.gdm.excess import excess_dimension
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed, places
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.geometry.motion import estimate_motion
from gdm_motion_seg.geometry.rigid import refine_rigid
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.msgs.results import motion_rows
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
from gdm_motion_seg.progress import progress
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation, WORLD
from gdm_motion_seg.viz.overlay import draw_overlay

SIZE = 320, 240
FRAMES = 6
"""Number of frames: enough for windows that start from the previous frame."""
GARBAGE_THRESHOLDS = 20_000, 20, 20
"""Thresholds of the garbage collector while functions are compiled; 30 MB more are in use."""


_one_at_a_time = threading.Lock()


def warm_up(config: PipelineConfig) -> None:
    """Run a few artificial frames with two motions through a pipeline, once per process."""
    with _one_at_a_time, progress.waiting('loading compiled code'), _less_garbage_collection():
        _warm_up(config)


@contextmanager
def _less_garbage_collection() -> Iterator[None]:
    """Collect garbage less often, and not among older objects: a tenth of the time."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@lru_cache(maxsize=1)
def _warm_up(config: PipelineConfig) -> None:
    pairing = replace(config.tracking, frame_gap=1, every_n=1, mask_path='')
    pipeline = MotionPipeline(replace(config, tracking=pairing))
    for index in range(FRAMES):
        pipeline.process(_frame(index), 1 + index * 33_000_000)
    _warm_up_motion()
    _warm_up_outputs()


def _warm_up_motion() -> None:
    """Estimate a motion with parallax, which the artificial frames do not have."""
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0.0, SIZE[1], (40, 2))
    x2 = x1 + rng.uniform(2.0, 10.0, (40, 1)) * [1.0, 0.3]
    pair = Correspondences(x1, x2, SIZE, np.arange(len(x1)))
    motion = estimate_motion(pair, np.arange(len(pair)), 1, Camera.guess(SIZE))
    assert motion.kind is MotionKind.GENERAL
    # The dimension decides whether bodies that touch are one.
    excess_dimension(np.ascontiguousarray(embed(pair).T), places(pair), np.arange(len(pair)), 0.35,
                     1.0, np.empty(len(pair)))
    # The focal length is estimated from such poses as soon as the world has parallax.
    rays = np.ascontiguousarray(np.hstack([pair.x1, pair.x2]).T) / SIZE[0]
    forward, ones = np.vstack([np.eye(3), [0.0, 0.0, 1.0]]), np.ones(len(pair))
    refine_rigid(forward, rays, np.arange(len(pair)), ones, ones, 0.0, 1)


def _warm_up_outputs() -> None:
    """Make masks, an overlay and messages from artificial tracks, some of which move."""
    grid = np.mgrid[10:SIZE[0]:20, 10:SIZE[1]:20].reshape(2, -1).T.astype(np.float64, order='C')
    labels = ((np.abs(grid - 100.0) < 50.0).all(axis=1)).astype(np.int64)
    pair = Correspondences(grid, grid, SIZE, np.arange(len(grid)))
    nothing = np.full((3, 3), np.nan)
    motions = tuple(Motion(label, np.flatnonzero(labels == label), MotionKind.GENERAL, '', nothing,
                           nothing, np.nan, np.nan, np.nan, rotation=np.eye(3),
                           translation=np.array([1.0, 0.0, 0.0])) for label in (WORLD, 1))
    n = len(labels)
    answer = MotionSegmentation(labels, motions, np.zeros(n), moving=labels * 1.0)
    masks = MotionMasks()
    for index in range(3):
        stamp = 1 + index * 33_000_000
        result = FrameResult(stamp, stamp - 1, 1, pair, answer)
        masks.process(_frame(index), result)
    draw_overlay(_frame(0), result)
    motion_rows(result, Camera.from_info(Camera.guess(SIZE).matrix, [], '', SIZE))


def _frame(index: int) -> cv2.typing.MatLike:
    """Return a textured background that moves, and a square that moves in another direction."""
    width, height = SIZE
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (height // 4, width // 4), np.uint8)
    texture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    frame = np.roll(texture, 2 * index, axis=1)
    side, top, left = height // 4, 40 + 2 * index, 60 - 3 * index
    frame[top:top + side, left:left + side] = texture[:side, :side].T
    return frame
