# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``bag``."""

import argparse
from pathlib import Path

from gdm_motion_seg.cli.offline import add_offline_arguments, process
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import BagSource, is_bag

EXAMPLE = 'gdm-motion-seg bag recording --topic /camera/image_raw --out recording_motions'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``bag``."""
    parser.add_argument('source', type=Path, metavar='IN',
                        help='a rosbag2 (folder, .mcap, .db3) or a ROS 1 bag')
    parser.add_argument('--topic', metavar='TOPIC',
                        help='the image topic; not needed if the bag has only one')
    add_offline_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Process the bag."""
    if not args.source.exists():
        raise InputError(f'{args.source} does not exist')
    if not is_bag(args.source):
        raise InputError(
            f'{args.source} is not a bag; for videos and folders of images use "video"')
    with BagSource(args.source, args.topic) as source:
        return process(source, args)
