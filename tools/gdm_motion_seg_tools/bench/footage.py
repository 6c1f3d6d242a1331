# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Benchmark on footage: frames as a stream through the pipeline with the defaults of the node.

KT3DMoSeg figures are pooled over clips, DAVIS figures are means over sequences. Sequential
MAGSAC++ gets the same tracks, for comparison.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from gdm_motion_seg.cli import console
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.viz.overlay import draw_overlay
from gdm_motion_seg.viz.plots import plot_reliability
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.metrics import match_motions
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.datasets.footage import (
    Clip, FootageFrame, KittiClip, MaskClip, read_footage)
from gdm_motion_seg_tools.datasets.pair import make_pair

LEAST_TRUTH = 8
"""Smallest number of keypoints with ground truth of a KITTI frame, and of tracks of a body."""
GHOST = 5
"""Smallest number of keypoints with ground truth of a ghost; most of them belong to the world."""
FOUND = 0.5
"""Smallest recall and purity of a found body, and share of a mover that is reported to move."""
MOVES = 0.5
"""``moving`` above which a keypoint is reported to move."""
RELIABILITY = 'reliability.svg'
"""File of the plot of ``moving`` against the share that moves."""


@dataclass(frozen=True)
class Answer:
    """The result of a method for the keypoints of one pair."""

    ids: IntArray
    """(N,) 0 the world, > 0 a body, -1 a wrong match."""
    moving: FloatArray
    """(N,) in [0, 1]."""


Answerer = Callable[[FrameResult], Answer]


def of_pipeline(result: FrameResult) -> Answer:
    """Return the result of the pipeline."""
    return Answer(result.labels, result.moving)


def of_magsac(result: FrameResult) -> Answer:
    """Return the result of sequential MAGSAC++; its largest motion is the world."""
    pair = result.correspondences
    nobody = np.zeros(len(pair), np.int64)
    labelled = make_pair('', pair.x1, pair.x2, pair.image_size, nobody, '')
    labels = METHODS['magsac'].segment(labelled, 0, np.random.default_rng(0)).labels
    counts = np.bincount(labels[labels >= 0], minlength=1)
    rank = np.append(np.argsort(np.argsort(-counts, kind='stable')), -1)
    ids = rank[labels]
    return Answer(ids, (ids > 0).astype(np.float64))


ANSWERERS: dict[str, Answerer] = {'gdm': of_pipeline, 'magsac': of_magsac}


@dataclass
class Counts:
    """Sums over the frames of one clip."""

    hits: int = 0
    false_alarms: int = 0
    misses: int = 0
    rest: int = 0
    frames: int = 0
    found: int = 0
    """Number of found body-frames, or of DAVIS frames in which the mover was found."""
    wanted: int = 0
    ghosts: int = 0
    switches: int = 0
    first_seen: dict[int, int] = field(default_factory=dict)
    """Frames from the first possible pair of each body to the first one in which it was found."""
    bodies: dict[int, int] = field(default_factory=dict)
    """First frame in which each body can be found."""
    last_id: dict[int, int] = field(default_factory=dict)
    reliability: Counter[tuple[int, bool]] = field(default_factory=Counter)
    """Numbers of keypoints by tenth of ``moving`` and by ground truth."""
    said: Counter[int] = field(default_factory=Counter)
    """Sum of ``moving`` in each tenth, in millionths."""

    def add_points(self, moving: FloatArray, truth: IntArray) -> None:
        """Compare the keypoints that are reported to move with those that move."""
        known = truth >= 0
        said, moves = moving[known] > MOVES, truth[known] > 0
        self.hits += int((said & moves).sum())
        self.false_alarms += int((said & ~moves).sum())
        self.misses += int((~said & moves).sum())
        self.rest += int((~said & ~moves).sum())
        tenth = np.minimum((moving[known] * 10).astype(int), 9)
        self.reliability.update(zip(tenth.tolist(), moves.tolist()))
        sums = np.bincount(tenth, 1e6 * moving[known], minlength=10)
        self.said.update(dict(enumerate(np.rint(sums).astype(int).tolist())))

    @property
    def precision(self) -> float:
        """Share of the keypoints reported to move that move."""
        return self.hits / max(1, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """Share of the moving keypoints that are reported to move."""
        return self.hits / max(1, self.hits + self.misses)


def add_kitti_frame(counts: Counts, clip: KittiClip, older: int, newer: int, answer: Answer,
                    truth: IntArray) -> None:
    """Add one pair of a clip with labelled bodies."""
    known = truth >= 0
    if known.sum() < LEAST_TRUTH:
        return
    counts.frames += 1
    counts.add_points(answer.moving, truth)
    ids, true = answer.ids[known], truth[known]
    counts.ghosts += any(bool((ids == i).sum() >= GHOST and (true[ids == i] == 0).mean() > 0.5)
                         for i in np.unique(ids[ids > 0]))
    match = match_motions(ids, true)
    sizes = clip.body_sizes(older, newer)
    for body in range(1, len(sizes)):
        if sizes[body] < LEAST_TRUTH:
            continue
        counts.wanted += 1
        counts.bodies.setdefault(body, newer)
        name, own = match.found_for(body), true == body
        if name is None or name <= 0 or own.sum() < 3:
            continue
        if (ids[own] == name).mean() >= FOUND and (true[ids == name] == body).mean() >= FOUND:
            counts.found += 1
            counts.first_seen.setdefault(body, newer - counts.bodies[body])
            counts.switches += counts.last_id.get(body, name) != name
            counts.last_id[body] = name


def add_mask_frame(counts: Counts, answer: Answer, truth: IntArray) -> None:
    """Add one pair of a clip with a mask."""
    counts.frames += 1
    counts.add_points(answer.moving, truth)
    on = answer.moving[truth == 1] > MOVES
    counts.found += bool(len(on) >= GHOST and on.mean() >= FOUND)


def add_frame(counts: Counts, clip: Clip, index: int, result: FrameResult,
              answer: Answer) -> None:
    """Add the result of the pair that ends in a frame of a clip."""
    older = index - result.gap
    truth = clip.truth(older, index, result.correspondences)
    if isinstance(clip, KittiClip):
        add_kitti_frame(counts, clip, older, index, answer, truth)
    else:
        add_mask_frame(counts, answer, truth)


def results_of(clip: Clip, config: NodeConfig) -> Iterator[tuple[FootageFrame, FrameResult]]:
    """Run a clip through a new pipeline; yields the frames that have a pair."""
    pipeline = MotionPipeline(config, config.seed)
    for frame in clip:
        result = pipeline.process(frame.image, frame.stamp)
        if result.has_pair:
            yield frame, result


def measure_clip(clip: Clip, methods: list[str], plots: Path | None) -> dict[str, Counts]:
    """Measure every method on one clip."""
    counts = {name: Counts() for name in methods}
    for frame, result in results_of(clip, NodeConfig()):
        for name in methods:
            add_frame(counts[name], clip, frame.index, result, ANSWERERS[name](result))
        if plots is not None:
            _write_overlay(plots / clip.name, frame, result)
    return counts


def _write_overlay(folder: Path, frame: FootageFrame, result: FrameResult) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(folder / f'{frame.index:05d}.jpg'), draw_overlay(frame.image, result))


def row_of(clip: Clip, method: str, counts: Counts) -> Row:
    """Return the figures of one clip."""
    return {'clip': clip.name, 'method': method, 'frames': counts.frames,
            'moving_precision': counts.precision, 'moving_recall': counts.recall,
            'found': counts.found, 'wanted': counts.wanted, 'ghosts': counts.ghosts,
            'id_switches': counts.switches, 'bodies': len(counts.bodies),
            'never': len(counts.bodies) - len(counts.first_seen)}


def summarise_kitti(all_counts: list[Counts]) -> dict[str, float]:
    """Pool the clips with labelled bodies."""
    total = {name: sum(getattr(c, name) for c in all_counts) for name in (
        'hits', 'false_alarms', 'misses', 'frames', 'found', 'wanted', 'ghosts', 'switches')}
    first = [n for c in all_counts for n in c.first_seen.values()]
    bodies = sum(len(c.bodies) for c in all_counts)
    return {
        'body_frames_found': total['found'] / max(1, total['wanted']),
        'bodies_never': float(bodies - len(first)), 'bodies': float(bodies),
        'moving_precision': total['hits'] / max(1, total['hits'] + total['false_alarms']),
        'moving_recall': total['hits'] / max(1, total['hits'] + total['misses']),
        'ghost_frames': total['ghosts'] / max(1, total['frames']),
        'id_switches': 100.0 * total['switches'] / max(1, total['wanted']),
        'first_seen_frames': float(np.median(first)) if first else float('inf')}


def summarise_masks(all_counts: list[Counts]) -> dict[str, float]:
    """Average the sequences with masks."""
    return {'moving_precision': float(np.mean([c.precision for c in all_counts])),
            'moving_recall': float(np.mean([c.recall for c in all_counts])),
            'frames_found': float(np.mean([c.found / max(1, c.frames) for c in all_counts])),
            'frames': float(sum(c.frames for c in all_counts))}


@dataclass(frozen=True)
class Bin:
    """The keypoints with ``moving`` in one tenth."""

    tenth: int
    said: float
    """Their mean ``moving``."""
    share: float
    """Share of them that move."""
    count: int

    def row(self) -> Row:
        """Return the bin as a row of a report."""
        return {'moving': f'{self.tenth / 10:.1f} to {(self.tenth + 1) / 10:.1f}',
                'moving_mean': self.said, 'moving_share': self.share, 'keypoints': self.count}


def reliability_bins(all_counts: list[Counts]) -> list[Bin]:
    """Pool the keypoints of all clips by tenth of ``moving``, without empty tenths."""
    total = sum((c.reliability for c in all_counts), Counter[tuple[int, bool]]())
    said = sum((c.said for c in all_counts), Counter[int]())
    bins = []
    for tenth in range(10):
        moves, rests = total[tenth, True], total[tenth, False]
        if count := moves + rests:
            bins.append(Bin(tenth, said[tenth] / 1e6 / count, moves / count, count))
    return bins


def calibration_error(all_counts: list[Counts]) -> float:
    """Return the mean difference of ``moving`` and the share that moves, over ten bins."""
    bins = reliability_bins(all_counts)
    if not bins:
        return float('nan')
    return float(np.average([abs(b.share - (b.tenth + 0.5) / 10) for b in bins],
                            weights=[b.count for b in bins]))


def write_reliability(folder: Path, all_counts: list[Counts]) -> None:
    """Draw ``reliability.svg``."""
    bins = reliability_bins(all_counts)
    plot_reliability(folder / RELIABILITY, [(b.said, b.share, b.count) for b in bins],
                     f'{len(all_counts)} clips, {sum(b.count for b in bins):,} keypoints')


def run(args: argparse.Namespace) -> Report:
    """Measure real footage, rendered scenes, or one clip in several encodings."""
    if args.rendered:
        from gdm_motion_seg_tools.bench.rendered import measure_rendered
        return measure_rendered()
    if args.encodings:
        from gdm_motion_seg_tools.bench.encodings import measure_encodings
        return measure_encodings(args.encodings)
    if args.data is None:
        raise InputError('footage needs --data DIR, or --rendered, or --encodings CLIP')
    clips = [clip for clip in read_footage(args.data) if args.pairs in clip.name]
    if not clips:
        raise InputError(f'no clip has {args.pairs!r} in its name')
    methods = [name.strip() for name in args.methods.split(',') if name.strip()] or list(ANSWERERS)
    for name in methods:
        if name not in ANSWERERS:
            raise InputError(f'footage compares {", ".join(ANSWERERS)}, not {name!r}')
    measured: list[tuple[Clip, dict[str, Counts]]] = []
    with console.progress_bar('footage', len(clips)) as advance:
        for number, clip in enumerate(clips, start=1):
            measured.append((clip, measure_clip(clip, methods, args.plots)))
            advance(number)
    rows = [row_of(clip, name, counts[name]) for clip, counts in measured for name in methods]
    if 'gdm' in methods:
        own = [counts['gdm'] for _, counts in measured]
        rows += [b.row() for b in reliability_bins(own)]
        if args.plots:
            write_reliability(args.plots, own)
    return make_report('footage', summary_of(measured, methods), rows)


def summary_of(measured: list[tuple[Clip, dict[str, Counts]]],
               methods: list[str]) -> dict[str, dict[str, float]]:
    """Return the summary of each kind of clip and method; a single kind needs no prefix."""
    kinds: list[tuple[str, type, Callable[[list[Counts]], dict[str, float]]]] = [
        ('kitti', KittiClip, summarise_kitti), ('davis', MaskClip, summarise_masks)]
    present = [kind for kind in kinds if any(isinstance(clip, kind[1]) for clip, _ in measured)]
    summary: dict[str, dict[str, float]] = {}
    for method in methods:
        figures: dict[str, float] = {}
        for prefix, kind, summarise in present:
            own = [counts[method] for clip, counts in measured if isinstance(clip, kind)]
            figures |= {key if len(present) == 1 else f'{prefix}_{key}': value
                        for key, value in summarise(own).items()}
        if method == 'gdm':
            figures['moving_calibration_error'] = calibration_error(
                [counts[method] for _, counts in measured])
        summary[method] = figures
    return summary
