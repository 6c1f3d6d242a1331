# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``query``."""

import argparse
from dataclasses import asdict

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.batch import needs_extra
from gdm_motion_seg.cli.flags import add_overwrite_argument, count

EXAMPLE = 'gdm-motion-seg query logs_motions "moving > 0.8 and count > 20"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``query``."""
    parser.add_argument('folder', metavar='DIR', help='output folder of "batch", or its address')
    parser.add_argument('condition', metavar='CONDITION',
                        help='condition on the columns of the table of motions: id, count, moving '
                        '(mean of the tracks of a body), kind, left, top, right, bottom, time, '
                        'recording, ...; with <, <=, >, >=, ==, !=, and, or, not')
    parser.add_argument('--join', type=_seconds, default=0.5, metavar='S',
                        help='frames of a body that are at most this far apart are one moment '
                        '(default: 0.5 s; 0 lists every frame)')
    parser.add_argument('--limit', type=count, metavar='N', help='print at most N moments')
    console.add_json_argument(parser)
    add_overwrite_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the moments that match."""
    with needs_extra('query'):
        from gdm_motion_seg.batch.query import find_moments
    moments = find_moments(args.folder, args.condition, args.join)
    shown = moments[:args.limit]
    document = {'found': len(moments), 'moments': [asdict(moment) for moment in shown]}
    if not console.deliver(document, args.json, args.overwrite):
        return 0
    rows = [[m.recording, f'{m.start:.3f}', f'{m.stop:.3f}', str(m.body), str(m.frames),
             str(m.count), f'{m.moving:.2f}'] for m in shown]
    more = f', of which the first {len(shown)} are shown' if len(shown) < len(moments) else ''
    console.table(f'{len(moments)} moments in {len({m.recording for m in moments})} recordings'
                  f'{more}', ['recording', 'from s', 'to s', 'body', 'frames', 'count', 'moving'],
                  rows)
    return 0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float('inf'):
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of seconds of at least 0')
    return value
