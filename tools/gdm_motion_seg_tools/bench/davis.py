# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Masks of what moves against the truth, on folders of images and masks as DAVIS-2016 has them.

Each sequence is a stream at 24 Hz through the pipeline with the node's default settings. Rendered
scenes in which nothing moves show how many pixels are called moving for no reason.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
import time
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.masks import MotionMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.reference_tracker import ReferenceTracker
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth.mask_folders import ANNOTATIONS, IMAGES
from gdm_motion_seg_tools.synth.render import render_scene

FPS = 24.0
LEFT_OUT_S = 1.0
"""The mask is measured after so many seconds: a stream needs some time to see motion."""
BORDER_PX = 3
"""Keypoints nearer to the truth's border have no sharp truth."""
LEAST_KEYPOINTS = 5
"""A mover with fewer keypoints cannot be found by them."""
STATIC_SCENES = ('driving', 'turning', 'zooming')
RESTING_SCENE = 'resting'
STATIC_FRAMES = 60
FOLDER = 'davis480'
"""Name of the data set's folder where --data holds several data sets."""

Mask = npt.NDArray[np.bool_]
Image = npt.NDArray[np.uint8]


@dataclass
class Measured:
    """What is counted over the frames of a sequence."""

    overlaps: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """Share of the pixels that are called moving."""
    mask_s: list[float] = field(default_factory=list)
    tracker_s: list[float] = field(default_factory=list)
    sure: list[npt.NDArray[np.float64]] = field(default_factory=list)
    """``moving`` of the keypoints with truth."""
    moves: list[Mask] = field(default_factory=list)
    """Truth of the same keypoints."""
    found: list[bool] = field(default_factory=list)
    """Whether most of the mover's keypoints were said to move, frame by frame."""

    def row(self, name: str) -> Row:
        """Return the figures of the sequence."""
        sure = np.concatenate([np.zeros(0), *self.sure])
        moves = np.concatenate([np.zeros(0, np.bool_), *self.moves])
        said = sure > 0.5
        return {'sequence': name, 'frames': len(self.shares), 'j': _mean(self.overlaps),
                'mask_share': _mean(self.shares),
                'moving_precision': _share(moves[said]), 'moving_recall': _share(said[moves]),
                'frames_found': _mean([float(f) for f in self.found]),
                'mask_ms': 1e3 * _median(self.mask_s), 't500_ms': 1e3 * _median(self.tracker_s)}


class Stream:
    """Pipeline, masks and the reference tracker on one stream."""

    def __init__(self, config: NodeConfig) -> None:
        """Begin a stream."""
        self._pipeline = MotionPipeline(config, config.seed)
        self._masks = MotionMasks()
        self._reference = ReferenceTracker()
        self.measured = Measured()

    def process(self, image: Image, stamp: int) -> tuple[FrameResult, Mask]:
        """Take a frame; return its answer and its mask, and note the times."""
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
    """Measure all sequences of ``--data``; --pairs chooses by name, --every takes a part."""
    limit_threads(1)
    names = [n for n in sequences(args.data) if args.pairs in n][::args.every]
    if not names:
        raise InputError(f'no sequence in {args.data} has {args.pairs!r} in its name')
    config, console = NodeConfig(), Console(stderr=True)
    _warm_up(config)
    folder, all_measured = own_folder(args.data), []
    for name in _progress(names, console):
        picture = args.plots / f'{name}.jpg' if args.plots else None
        all_measured.append(measure_sequence(folder, name, config, picture))
    rows = [m.row(name) for m, name in zip(all_measured, names)]
    static = {name: measure_static(name, config)
              for name in (*STATIC_SCENES, RESTING_SCENE)}
    rows += [{'sequence': f'rendered {name}', 'mask_share': share}
             for name, share in static.items()]
    return make_report('davis', {'gdm': summarise(all_measured, rows, static)}, rows)


def summarise(measured: Sequence[Measured], rows: Sequence[Row], static: dict[str, float]
              ) -> dict[str, float]:
    """Return the summary: means over sequences, medians of times over all frames."""
    mask = _median([s for m in measured for s in m.mask_s])
    tracker = _median([s for m in measured for s in m.tracker_s])
    keys = ('j', 'moving_precision', 'moving_recall', 'frames_found')
    sure = np.concatenate([s for m in measured for s in m.sure] or [np.zeros(0)])
    moves = np.concatenate([s for m in measured for s in m.moves] or [np.zeros(0, np.bool_)])
    return {
        **{key: _mean([row[key] for row in rows if key in row]) for key in keys},
        'j_worst': min(row['j'] for row in rows if 'j' in row),
        'moving_calibration_error': calibration_error(sure, moves),
        'mask_over_t500': mask / tracker, 'mask_ms': 1e3 * mask, 't500_ms': 1e3 * tracker,
        'static_mask_share': _mean([static[name] for name in STATIC_SCENES]),
        'static_mask_share_worst': max(static[name] for name in STATIC_SCENES),
        'resting_mask_share': static[RESTING_SCENE],
        'sequences': float(len(measured))}


def measure_sequence(folder: Path, name: str, config: NodeConfig, picture: Path | None = None
                     ) -> Measured:
    """Send a sequence through the pipeline and hold its masks against the truth."""
    stream = Stream(config)
    frames = list(frame_files(folder, name))
    for i, (image_file, mask_file) in enumerate(frames):
        image, truth = read_image(image_file), read_mask(mask_file)
        result, mask = stream.process(image, round(1e9 * (1.0 + i / FPS)))
        _add_keypoints(stream.measured, result, truth)
        if i >= LEFT_OUT_S * FPS:
            stream.measured.overlaps.append(overlap(mask, truth))
        if picture is not None and i == 2 * len(frames) // 3:
            _draw(picture, image, mask, truth)
    return stream.measured


def measure_static(name: str, config: NodeConfig) -> float:
    """Return the share of pixels that are called moving in a rendered scene without movers."""
    stream = Stream(config)
    for frame in render_scene(name, STATIC_FRAMES):
        stream.process(frame.image, frame.stamp)
    return _mean(stream.measured.shares)


def overlap(mask: Mask, truth: Mask) -> float:
    """Return intersection over union; 1 where both are empty."""
    union = np.count_nonzero(mask | truth)
    return np.count_nonzero(mask & truth) / union if union else 1.0


def calibration_error(sure: npt.NDArray[np.float64], moves: Mask, bins: int = 10) -> float:
    """Return the mean over points of |share that moves - mean certainty| of the point's bin."""
    if not len(sure):
        return float('nan')
    where = np.minimum((sure * bins).astype(np.int64), bins - 1)
    count = np.bincount(where, minlength=bins)
    said = np.bincount(where, sure, bins)
    true = np.bincount(where, moves.astype(np.float64), bins)
    return float(np.abs(said - true).sum() / count.sum())


def own_folder(data: Path | None) -> Path:
    """Return the folder with JPEGImages in it: --data itself, or the data set's inside it."""
    if data is None:
        raise InputError('davis needs --data DIR, a folder with JPEGImages and Annotations')
    for folder in (data, data / FOLDER, data / 'davis'):
        if (folder / IMAGES).is_dir():
            return folder
    raise InputError(f'{data} has no folder {IMAGES}')


def sequences(data: Path | None) -> list[str]:
    """Return the names of the sequences that have both images and masks."""
    folder = own_folder(data)
    names = sorted(p.name for p in (folder / IMAGES).iterdir() if p.is_dir())
    found = [n for n in names if any(frame_files(folder, n))]
    if not found:
        raise InputError(f'{folder} holds no images with masks of the same names')
    return found


def frame_files(folder: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Yield image and mask of every frame in order; frames without a mask are left out."""
    for image in sorted((folder / IMAGES / name).iterdir()):
        mask = folder / ANNOTATIONS / name / f'{image.stem}.png'
        if image.suffix.lower() in ('.jpg', '.jpeg', '.png') and mask.is_file():
            yield image, mask


def read_image(path: Path) -> Image:
    """Read a colour image."""
    return _read(path, cv2.IMREAD_COLOR)


def read_mask(path: Path) -> Mask:
    """Read a mask: everything but 0 is the mover."""
    return _read(path, cv2.IMREAD_GRAYSCALE) > 0


def _read(path: Path, flag: int) -> Image:
    image = cv2.imread(str(path), flag)
    if image is None:
        raise InputError(f'{path} is no readable image')
    return np.asarray(image, np.uint8)


def _add_keypoints(measured: Measured, result: FrameResult, truth: Mask) -> None:
    """Add the keypoints that are not near the truth's border."""
    if not result.has_pair:
        return
    disc = np.ones((2 * BORDER_PX + 1,) * 2, np.uint8)
    inner = cv2.erode(truth.astype(np.uint8), disc) > 0
    outer = cv2.dilate(truth.astype(np.uint8), disc) == 0
    height, width = truth.shape
    x, y = np.clip(np.rint(result.correspondences.x2), 0, (width - 1, height - 1)).astype(int).T
    known, moves = inner[y, x] | outer[y, x], inner[y, x]
    measured.sure.append(np.asarray(result.moving[known], np.float64))
    measured.moves.append(moves[known])
    on = moves & known
    measured.found.append(int(on.sum()) >= LEAST_KEYPOINTS
                          and float((result.moving[on] > 0.5).mean()) >= 0.5)


def _draw(path: Path, image: Image, mask: Mask, truth: Mask) -> None:
    """Write the frame with its mask in red and the truth's border in green."""
    canvas = image.copy()
    canvas[mask] = canvas[mask] // 2 + np.array([0, 0, 127], np.uint8)
    borders, _ = cv2.findContours(truth.astype(np.uint8), cv2.RETR_EXTERNAL,
                                  cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(canvas, borders, -1, (0, 255, 0), 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), canvas)


def _warm_up(config: NodeConfig) -> None:
    stream = Stream(config)
    for frame in render_scene('two_movers', 20, (320, 240)):
        stream.process(frame.image, frame.stamp)


def _progress(names: Sequence[str], console: Console) -> Any:
    if not console.is_terminal:
        return names
    return track(names, 'sequences', console=console, transient=True)


def _mean(values: Sequence[float]) -> float:
    known = [v for v in values if np.isfinite(v)]
    return float(np.mean(known)) if known else float('nan')


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else float('nan')


def _share(values: Mask) -> float:
    return float(values.mean()) if len(values) else float('nan')
