# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``view``."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TYPE_CHECKING
import webbrowser

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import (add_overwrite_argument, add_settings_arguments, config_from,
                                      count, rate)
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.output import output_file
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.ros.config import NodeConfig

if TYPE_CHECKING:
    from gdm_motion_seg.view.feeds import Sight

EXAMPLE = 'gdm-motion-seg view drive.mp4'
NODE = 'ros:'
"""Prefix of a source that is a running node."""
NEW_VIEWER = '-'
"""Value of --rerun if no file is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``view``."""
    parser.add_argument('source', metavar='SOURCE',
                        help='number of a webcam, video, folder of images, bag, or '
                        'ros:/motion_seg for the topics of a running node')
    parser.add_argument('--topic', metavar='TOPIC',
                        help='the image topic of a bag; not needed if the bag has only one')
    parser.add_argument('--fps', type=rate, metavar='HZ',
                        help='frames per second of a folder (default: 30), or of a video that '
                        'declares a wrong rate')
    parser.add_argument('--masks', action='store_true',
                        help='show dense masks of what moves instead of outlines around tracks')
    parser.add_argument('--frames', type=count, metavar='N', help='stop after N frames')
    parser.add_argument('--host', default='127.0.0.1', metavar='ADDRESS',
                        help='address to serve the page on (default: 127.0.0.1, which only this '
                        'machine can reach)')
    parser.add_argument('--port', type=_port, default=8765, metavar='N',
                        help='port of the page; 0 takes any free port (default: 8765)')
    parser.add_argument('--no-browser', action='store_true', help='do not open a browser')
    parser.add_argument('--end', action='store_true',
                        help='end when the source ends instead of waiting for Ctrl-C')
    parser.add_argument('--rerun', nargs='?', const=NEW_VIEWER, metavar='FILE.rrd',
                        help='log to Rerun instead of a page: to a file, or to a new viewer')
    add_overwrite_argument(parser)
    add_settings_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Show the source."""
    config = config_from(args)
    if args.source.startswith(NODE):
        if args.rerun:
            raise InputError('--rerun takes a webcam, a video, a folder or a bag, not a node')
        return _serve_node(args, config)
    if args.rerun:
        return _log_to_rerun(args, config)
    return _serve_source(args, config)


def _serve_source(args: argparse.Namespace, config: NodeConfig) -> int:
    from gdm_motion_seg.view.feeds import answers, sights
    from gdm_motion_seg.view.page import about

    # Open it once before the page is served, so that an invalid source is reported at once.
    with open_source(args.source, args.topic, args.fps) as source:
        name, live, fps = source.path.name, source.live, source.fps

    def feed() -> 'Iterator[Sight]':
        with open_source(args.source, args.topic, args.fps) as source:
            found = answers(source, config, config.seed, args.masks)
            yield from islice(sights(found), args.frames)

    return _serve(args, about(name, config, live, fps), feed)


def _serve_node(args: argparse.Namespace, config: NodeConfig) -> int:
    from gdm_motion_seg.ros.listener import NodeListener
    from gdm_motion_seg.view.feeds import node_sights
    from gdm_motion_seg.view.page import about

    with NodeListener(args.source.removeprefix(NODE)) as listener:
        told = about(listener.name, config, True, 30.0)
        return _serve(args, told, lambda: islice(node_sights(listener.frames()), args.frames))


def _serve(args: argparse.Namespace, told: dict[str, Any],
           feed: 'Callable[[], Iterable[Sight]]') -> int:
    from gdm_motion_seg.view.player import Player
    from gdm_motion_seg.view.server import is_loopback, PageServer

    if not is_loopback(args.host):
        console.notes.print(f'warning: everyone who can reach {args.host} can watch and pause',
                            highlight=False, soft_wrap=True)
    server = PageServer(told, args.host, args.port)
    try:
        player = Player(server, bool(told['live']))
        server.commands.update(pause=player.pause, play=player.play, step=player.step,
                               again=player.again)
        console.screen.print(f'{told["source"]}: {server.address} (Ctrl-C ends)',
                             highlight=False, soft_wrap=True)
        if not (args.no_browser or _open_browser(server.address)):
            console.notes.print('no browser could be opened; open the address in one',
                                highlight=False)
        try:
            player.run(feed, wait_at_end=not args.end)
        except InputError as error:
            if args.end:
                raise
            player.fail(str(error))
            console.notes.print(str(error), highlight=False, soft_wrap=True)
            player.wait()
    finally:
        server.close()
    return 0


def _open_browser(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def _log_to_rerun(args: argparse.Namespace, config: NodeConfig) -> int:
    from gdm_motion_seg.view.feeds import answers
    from gdm_motion_seg.view.rerun_log import RerunLog

    def log(file: Path | None) -> int:
        with open_source(args.source, args.topic, args.fps) as source, \
                RerunLog(source.path.name, file) as recording:
            total = min(filter(None, (source.count, args.frames)), default=None)
            with console.progress_bar(source.path.name, total) as advance:
                done = 0
                found = islice(answers(source, config, config.seed, args.masks), args.frames)
                for done, answer in enumerate(found, start=1):
                    recording.add(answer)
                    advance(done)
        return done

    if args.rerun == NEW_VIEWER:
        console.screen.print(f'{log(None)} frames logged to Rerun')
        return 0
    path = Path(args.rerun)
    with output_file(path, args.overwrite) as file:
        done = log(file)
    console.screen.print(f'{done} frames are in {path}', highlight=False, soft_wrap=True)
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f'{text!r} is not a port from 0 to 65535')
    return int(text)
