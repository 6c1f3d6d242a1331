# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Everything compiled and loaded before the first image comes."""

from dataclasses import replace
from functools import lru_cache
import threading

import cv2
import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
from gdm_motion_seg.progress import progress
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation, WORLD

SIZE = 320, 240
FRAMES = 6
"""Enough for windows with a start from the frame before."""


_one_at_a_time = threading.Lock()


def warm_up(config: PipelineConfig) -> None:
    """
    Run a few made-up frames with two motions through a pipeline of its own, once a process.

    The first frame would otherwise wait for the compiler, a minute or more on a fresh machine.
    """
    with _one_at_a_time, progress.waiting('loading compiled code'):
        _warm_up(config)


@lru_cache(maxsize=1)
def _warm_up(config: PipelineConfig) -> None:
    pairing = replace(config.tracking, frame_gap=1, every_n=1, mask_path='')
    pipeline = MotionPipeline(replace(config, tracking=pairing))
    for index in range(FRAMES):
        pipeline.process(_frame(index), 1 + index * 33_000_000)
    _warm_up_masks()


def _warm_up_masks() -> None:
    """Make a mask of made-up tracks, some of which move: all of its code is run."""
    grid = np.mgrid[10:SIZE[0]:20, 10:SIZE[1]:20].reshape(2, -1).T.astype(np.float64)
    labels = ((np.abs(grid - 100.0) < 50.0).all(axis=1)).astype(np.int64)
    pair = Correspondences.from_arrays(grid, grid, SIZE)
    nothing = np.full((3, 3), np.nan)
    world = Motion(WORLD, np.flatnonzero(labels == WORLD), MotionKind.TOO_FEW, '', nothing,
                   nothing, np.nan, np.nan, np.nan)
    n = len(labels)
    answer = MotionSegmentation(labels, (world,), np.zeros(n), np.zeros(n), moving=labels * 1.0)
    masks = MotionMasks()
    for index in range(3):
        stamp = 1 + index * 33_000_000
        masks.process(_frame(index), FrameResult(stamp, stamp - 1, 1, pair, answer))


def _frame(index: int) -> cv2.typing.MatLike:
    """Return a textured background that moves, and a square in it that moves another way."""
    width, height = SIZE
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (height // 4, width // 4), np.uint8)
    texture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    frame = np.roll(texture, 2 * index, axis=1)
    side = height // 2
    frame[40 + index:40 + index + side, 60 - index:60 - index + side] = texture[:side, :side].T
    return frame
