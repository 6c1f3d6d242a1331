# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``synth``."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import add_overwrite_argument, count, image_size, rate
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import STORAGES
from gdm_motion_seg.io.output import output_folder
from gdm_motion_seg_tools.synth.mask_folders import write_mask_folder
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene
from gdm_motion_seg_tools.synth.scenes import scene_named, SCENE_NAMES
from gdm_motion_seg_tools.synth.truth import FOLDER

EXAMPLE = 'gdm-motion-seg synth scene --scene two_movers --frames 90'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``synth``."""
    default = SceneOptions()
    parser.add_argument('out', type=Path, metavar='OUT', help='folder of the bag to write')
    parser.add_argument('--scene', type=scenes, default=[default.scene], metavar='NAME',
                        help=f'one of {", ".join(SCENE_NAMES)} (default: {default.scene}); with '
                        '--masks also several, separated by commas')
    parser.add_argument('--masks', action='store_true',
                        help='write images and masks in the layout of DAVIS instead of a bag')
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
                        help='gap in frames of the pairs whose motions are listed (default: 5)')
    add_overwrite_argument(parser)


def scenes(text: str) -> list[str]:
    """Read names of scenes that are separated by commas."""
    names = text.split(',')
    for name in names:
        if name not in SCENE_NAMES:
            raise argparse.ArgumentTypeError(f'there is no scene called {name!r}; choose one of '
                                             f'{", ".join(SCENE_NAMES)}')
    return list(dict.fromkeys(names))


def run(args: argparse.Namespace) -> int:
    """Render the scenes."""
    if len(args.scene) > 1 and not args.masks:
        raise InputError(f'a bag has one scene, got {len(args.scene)}; use --masks for several')
    total, done = len(args.scene) * args.frames, 0
    with output_folder(args.out, args.overwrite, make=args.masks) as folder, \
            console.progress_bar(f'rendering {", ".join(args.scene)}', total) as advance:
        for name in args.scene:
            options = SceneOptions(name, args.frames, args.size, args.fps, abs(args.seed),
                                   args.storage, args.compressed, args.gap)
            write = write_mask_folder if args.masks else write_scene
            write(folder, options, partial(_count, advance, done))
            done += args.frames
    for name in args.scene:
        console.screen.print(f'{args.out}: {args.frames} frames of "{name}"\n'
                             f'{scene_named(name).description}', highlight=False, soft_wrap=True)
    if not args.masks:
        console.screen.print(f'The ground truth is in {args.out / FOLDER}', highlight=False,
                             soft_wrap=True)
    return 0


def _count(advance: Callable[[int], None], before: int, frames: int) -> None:
    advance(before + frames)
