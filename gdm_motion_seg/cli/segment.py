# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``segment``."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import add_overwrite_argument, add_settings_arguments, config_from
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.folders import read_image, write_image
from gdm_motion_seg.io.frames import stamp_of_index
from gdm_motion_seg.io.output import output_file
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.viz.overlay import draw_overlay

EXAMPLE = 'gdm-motion-seg segment first.png second.png --out motions.png --json motions.json'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``segment``."""
    parser.add_argument('older', type=Path, metavar='A', help='the earlier image')
    parser.add_argument('newer', type=Path, metavar='B', help='the later image, of the same size')
    parser.add_argument('--out', type=Path, default=Path('motions.png'), metavar='FILE.png',
                        help='the overlay to write (default: motions.png)')
    console.add_json_argument(parser)
    add_overwrite_argument(parser)
    add_settings_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Segment the two images."""
    config = config_from(args)
    older, newer = read_image(args.older), read_image(args.newer)
    if older.shape[:2] != newer.shape[:2]:
        raise InputError(f'{args.older} has {older.shape[1]} x {older.shape[0]} pixels, '
                         f'{args.newer} {newer.shape[1]} x {newer.shape[0]}; '
                         'the sizes must be equal')
    # The two images are the pair; the gap setting is for streams.
    tracking = replace(config.tracking, frame_gap=1, every_n=1)
    config = replace(config, tracking=tracking)
    pipeline = MotionPipeline(config, config.seed)
    pipeline.process(older, stamp_of_index(0, 30.0))
    result = pipeline.process(newer, stamp_of_index(1, 30.0))
    if result.problem:
        raise InputError(result.reason)
    with output_file(args.out, args.overwrite) as file:
        write_image(file, draw_overlay(newer, result))
    if console.deliver(to_document(result), args.json, args.overwrite):
        print_motions(result)
        console.screen.print(f'the overlay is in {args.out}')
    return 0


def to_document(result: FrameResult) -> dict[str, Any]:
    """Return the result of one pair as plain values; undetermined values are null."""
    pair, answer = result.correspondences, result.segmentation
    return {
        'image_size': list(pair.image_size), 'reason': result.reason, 'complete': answer.complete,
        'points': {'older': pair.x1.tolist(), 'newer': pair.x2.tolist(),
                   'labels': answer.labels.tolist(), 'moving': _plain(answer.moving),
                   'residuals_px': _plain(answer.residuals)},
        'motions': [{
            'label': m.id, 'world': m.is_world, 'moving': _plain(m.moving), 'count': m.count,
            'box': list(m.box), 'kind': m.kind.value, 'reason': m.reason,
            'dimension': _plain(m.dimension), 'residual_px': _plain(m.residual),
            'threshold_px': _plain(m.threshold), 'fundamental': _plain(m.fundamental),
            'homography': _plain(m.homography)} for m in answer.motions]}


def _plain(values: Any) -> Any:
    """Convert numbers for JSON: NaN and infinity become null."""
    array = np.asarray(values, np.float64)
    if array.ndim == 0:
        return float(array) if np.isfinite(array) else None
    return [_plain(part) for part in array]


def print_motions(result: FrameResult) -> None:
    """Print the motions of a pair as a table."""
    answer = result.segmentation
    rows = [['world' if m.is_world else f'body {m.id}', str(m.count), f'{m.moving:.2f}',
             m.kind.value, f'{m.residual:.2f}', f'{m.dimension:.2f}'] for m in answer.motions]
    console.table(f'{answer.n_motions} motions, {np.sum(answer.labels < 0)} of '
                  f'{len(answer.labels)} points without one',
                  ['motion', 'points', 'moving', 'kind', 'residual (px)', 'dimension'], rows)
    if result.reason:
        console.screen.print(result.reason)
