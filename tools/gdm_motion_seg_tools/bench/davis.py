# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Benchmark of masks on folders of images and masks in the layout of DAVIS-2016.

It is ``footage`` with masks: each sequence is a stream at 24 Hz through the pipeline with the
default settings of the node. Rendered scenes without movers show the share of pixels that are
wrongly marked as moving. KT3DMoSeg clips below ``--data`` are used for the calibration of
``moving``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
import time

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.cli import console
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.footage import (
    add_mask_frame, calibration_error, Counts, measure_clip, of_pipeline, reliability_bins,
    summarise_masks, write_reliability)
from gdm_motion_seg_tools.bench.reference_tracker import ReferenceTracker
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.datasets.footage import MaskClip, read_footage
from gdm_motion_seg_tools.synth.render import render_scene

LEFT_OUT_S = 1.0
"""Masks are measured after this many seconds, because a stream needs time to detect motion."""
STATIC_SCENES = ('driving', 'turning', 'zooming')
RESTING_SCENE = 'resting'
STATIC_FRAMES = 60

Mask = npt.NDArray[np.bool_]
Image = npt.NDArray[np.uint8]


@dataclass
class Measured:
    """Measurements of the frames of a sequence."""

    counts: Counts = field(default_factory=Counts)
    overlaps: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """Share of the pixels that are marked as moving."""
    mask_s: list[float] = field(default_factory=list)
    tracker_s: list[float] = field(default_factory=list)

    def row(self, name: str) -> Row:
        """Return the figures of the sequence."""
        return {'sequence': name, 'frames': len(self.shares), 'j': _mean(self.overlaps),
                'mask_share': _mean(self.shares), 'moving_precision': self.counts.precision,
                'moving_recall': self.counts.recall,
                'mask_ms': 1e3 * float(np.median(self.mask_s)),
                't500_ms': 1e3 * float(np.median(self.tracker_s))}


class Stream:
    """Pipeline, masks and the reference tracker on one stream."""

    def __init__(self, config: NodeConfig) -> None:
        """Begin a stream."""
        self._pipeline = MotionPipeline(config, config.seed)
        self._masks = MotionMasks()
        self._reference = ReferenceTracker()
        self.measured = Measured()

    def process(self, image: Image, stamp: int) -> tuple[FrameResult, Mask]:
        """Process a frame; returns its result and its mask, and notes the times."""
        result = self._pipeline.process(image, stamp)
        grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
        start = time.thread_time()
        self._reference.track(grey)
        middle = time.thread_time()
        mask = self._masks.process(image, result) > 0
        self.measured.mask_s.append(time.thread_time() - middle)
        self.measured.tracker_s.append(middle - start)
        self.measured.shares.append(float(mask.mean()))
        return result, mask


def run(args: argparse.Namespace) -> Report:
    """Measure all sequences of ``--data``; --pairs selects by name, --every takes a part."""
    if args.data is None:
        raise InputError('davis needs --data DIR, a folder with JPEGImages and Annotations')
    limit_threads(1)
    clips = [clip for clip in read_footage(args.data) if args.pairs in clip.name][::args.every]
    masked = [clip for clip in clips if isinstance(clip, MaskClip)]
    others = [clip for clip in clips if not isinstance(clip, MaskClip)]
    if not masked:
        raise InputError(f'no sequence with masks in {args.data} has {args.pairs!r} in its name')
    config = NodeConfig()
    _warm_up(config)
    measured = []
    with console.progress_bar('davis', len(masked)) as advance:
        for number, clip in enumerate(masked, start=1):
            picture = args.plots / f'{clip.name}.jpg' if args.plots else None
            measured.append(measure_sequence(clip, config, picture))
            advance(number)
    static = {name: measure_static(name, config) for name in (*STATIC_SCENES, RESTING_SCENE)}
    rows = [m.row(clip.name) for m, clip in zip(measured, masked)]
    rows += [{'sequence': f'rendered {name}', 'mask_share': share}
             for name, share in static.items()]
    kitti = [measure_clip(clip, ['gdm'], None)['gdm'] for clip in others]
    every = [*(m.counts for m in measured), *kitti]
    rows += [b.row() for b in reliability_bins(every)]
    if args.plots:
        write_reliability(args.plots, every)
    return make_report('davis', {'gdm': summarise(measured, every, static)}, rows)


def summarise(measured: Sequence[Measured], every: list[Counts], static: dict[str, float]
              ) -> dict[str, float]:
    """
    Return the summary: means over sequences, medians of times over all frames.

    ``every`` has the counts of all clips, including those without masks.
    """
    mask = float(np.median([s for m in measured for s in m.mask_s]))
    tracker = float(np.median([s for m in measured for s in m.tracker_s]))
    counts = [m.counts for m in measured]
    overlaps = [_mean(m.overlaps) for m in measured]
    return {
        'j': _mean(overlaps), 'j_worst': min(overlaps), **summarise_masks(counts),
        'moving_calibration_error': calibration_error(every),
        'mask_over_t500': mask / tracker, 'mask_ms': 1e3 * mask, 't500_ms': 1e3 * tracker,
        'static_mask_share': _mean([static[name] for name in STATIC_SCENES]),
        'static_mask_share_worst': max(static[name] for name in STATIC_SCENES),
        'resting_mask_share': static[RESTING_SCENE], 'sequences': float(len(measured))}


def measure_sequence(clip: MaskClip, config: NodeConfig, picture: Path | None = None) -> Measured:
    """Run a sequence through the pipeline and compare its masks with the ground truth."""
    stream = Stream(config)
    for frame in clip:
        result, mask = stream.process(frame.image, frame.stamp)
        truth = clip.mask(frame.index) > 0
        if result.has_pair:
            known = clip.truth(frame.index - result.gap, frame.index, result.correspondences)
            add_mask_frame(stream.measured.counts, of_pipeline(result), known)
        if frame.index >= LEFT_OUT_S * clip.fps:
            stream.measured.overlaps.append(overlap(mask, truth))
        if picture is not None and frame.index == 2 * len(clip.files) // 3:
            _draw(picture, frame.image, mask, truth)
    return stream.measured


def measure_static(name: str, config: NodeConfig) -> float:
    """Return the share of pixels that are marked as moving in a scene without movers."""
    stream = Stream(config)
    for frame in render_scene(name, STATIC_FRAMES):
        stream.process(frame.image, frame.stamp)
    return _mean(stream.measured.shares)


def overlap(mask: Mask, truth: Mask) -> float:
    """Return intersection over union; 1 if both are empty."""
    union = np.count_nonzero(mask | truth)
    return np.count_nonzero(mask & truth) / union if union else 1.0


def _draw(path: Path, image: Image, mask: Mask, truth: Mask) -> None:
    """Write the frame with its mask in red and the true border in green."""
    canvas = image.copy()
    canvas[mask] = canvas[mask] // 2 + np.array([0, 0, 127], np.uint8)
    borders, _ = cv2.findContours(truth.astype(np.uint8), cv2.RETR_EXTERNAL,
                                  cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(canvas, borders, -1, (0, 255, 0), 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), canvas)


def _warm_up(config: NodeConfig) -> None:
    stream = Stream(config)
    for frame in render_scene('two_movers', 12, (320, 240)):
        stream.process(frame.image, frame.stamp)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float('nan')
