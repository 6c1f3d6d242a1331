# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``video``."""

import argparse
from pathlib import Path

from gdm_motion_seg.cli.flags import rate
from gdm_motion_seg.cli.offline import add_offline_arguments, process
from gdm_motion_seg.io.sources import open_source

EXAMPLE = 'gdm-motion-seg video drive.mp4 --out drive_motions --set tracking.frame_gap=3'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``video``."""
    parser.add_argument('source', type=Path, metavar='IN',
                        help='a video, a folder of images, or the number of a webcam')
    parser.add_argument('--fps', type=rate, metavar='HZ',
                        help='frames per second of a folder (default: 30), or of a video that '
                        'declares a wrong rate')
    add_offline_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Process the video."""
    with open_source(args.source, fps=args.fps) as source:
        return process(source, args)
