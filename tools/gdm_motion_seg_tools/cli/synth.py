# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``synth``."""

import argparse
from pathlib import Path

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import add_overwrite_argument, count, image_size, rate
from gdm_motion_seg.io.bags import STORAGES
from gdm_motion_seg.io.output import output_folder
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene
from gdm_motion_seg_tools.synth.scenes import scene_named, SCENE_NAMES
from gdm_motion_seg_tools.synth.truth import FOLDER

EXAMPLE = 'gdm-motion-seg synth scene --scene two_movers --frames 90'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``synth``."""
    default = SceneOptions()
    parser.add_argument('out', type=Path, metavar='OUT', help='folder of the bag to write')
    parser.add_argument('--scene', choices=SCENE_NAMES, default=default.scene, metavar='NAME',
                        help=f'one of {", ".join(SCENE_NAMES)} (default: {default.scene})')
    parser.add_argument('--frames', type=count, default=default.n_frames, metavar='N',
                        help=f'number of frames (default: {default.n_frames})')
    parser.add_argument('--size', type=image_size, default=default.size, metavar='WxH',
                        help='size of the images (default: 640x480)')
    parser.add_argument('--fps', type=rate, default=default.fps, metavar='HZ',
                        help=f'frames per second (default: {default.fps:g})')
    parser.add_argument('--seed', type=int, default=default.seed, metavar='N',
                        help='seed of textures and noise (default: 0)')
    parser.add_argument('--storage', choices=tuple(STORAGES), default=default.storage,
                        help=f'format of the bag (default: {default.storage})')
    parser.add_argument('--compressed', action='store_true', help='store the images as JPEG')
    parser.add_argument('--gap', type=count, default=default.gap, metavar='N',
                        help='frames between the pairs whose motions the truth lists (default: 5)')
    add_overwrite_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Render the scene."""
    options = SceneOptions(args.scene, args.frames, args.size, args.fps, abs(args.seed),
                           args.storage, args.compressed, args.gap)
    with output_folder(args.out, args.overwrite, make=False) as folder, \
            console.progress_bar(f'rendering {options.scene}', options.n_frames) as advance:
        write_scene(folder, options, advance)
    console.screen.print(f'{args.out}: {args.frames} frames of "{args.scene}"\n'
                         f'{scene_named(args.scene).description}\n'
                         f'The truth is in {args.out / FOLDER}', highlight=False, soft_wrap=True)
    return 0
