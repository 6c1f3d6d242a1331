# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``replay``."""

import argparse
from pathlib import Path
import signal
from types import FrameType
from typing import NoReturn

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import rate
from gdm_motion_seg.errors import MissingDependencyError

EXAMPLE = 'gdm-motion-seg replay recording --rate 0.5 --loop --clock'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``replay``."""
    parser.add_argument('bag', type=Path, metavar='BAG', help='a rosbag2, mcap or sqlite3')
    parser.add_argument('--rate', type=rate, default=1.0, metavar='X', help='speed (default: 1)')
    parser.add_argument('--loop', action='store_true', help='play in a loop, until Ctrl-C')
    parser.add_argument('--clock', action='store_true', help='publish /clock, for use_sim_time')
    parser.add_argument('--reliable', action='store_true',
                        help='offer reliable delivery instead of best effort')
    parser.add_argument('--topic', action='append', default=[], metavar='NAME[:=NEW]',
                        help='play only this topic, under another name if given; may be repeated')
    parser.add_argument('--leave-out', action='append', default=[], metavar='NAME',
                        help='do not play this topic; may be repeated')
    parser.add_argument('--wait', type=float, default=0.0, metavar='S',
                        help='wait up to this many seconds for a subscriber (default: 0)')
    parser.add_argument('--wait-for', default='', metavar='NODE',
                        help='the node that --wait waits for (default: any)')


def run(args: argparse.Namespace) -> int:
    """Play the bag until its end or Ctrl-C."""
    before = signal.signal(signal.SIGINT, _interrupt_once)
    try:
        played = _play(args)
    except KeyboardInterrupt:
        return 0  # launch would report any other code as a crash
    if signal.getsignal(signal.SIGINT) is _interrupt_once:
        signal.signal(signal.SIGINT, before)
    # After an interruption, further signals are ignored until the process has ended.
    console.screen.print(f'{played} messages of {args.bag} played')
    return 0


def _interrupt_once(number: int, frame: FrameType | None) -> NoReturn:
    """Interrupt once and ignore further signals: the terminal and launch both send one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _play(args: argparse.Namespace) -> int:
    try:
        from gdm_motion_seg_tools.ros.replay import BagPlayer
        from gdm_motion_seg_tools.ros.session import Session
    except ImportError as error:
        if error.name == 'rosbags':
            raise  # it is not a module of ROS 2
        raise MissingDependencyError(f'replay needs ROS 2 ({error}): source its setup file, or '
                                     "pip install 'gdm_motion_seg[jazzy]'") from None
    renamed = {name: new or name for name, _, new in (t.partition(':=') for t in args.topic)}
    with Session('gdm_motion_seg_replay', private=False) as session, \
            BagPlayer(session.node, args.bag, rate=args.rate, loop=args.loop, clock=args.clock,
                      reliable=args.reliable, topics=renamed or None,
                      leave_out=args.leave_out) as player:
        try:
            if args.wait > 0 and not player.wait_for_subscribers(args.wait,
                                                                 listener=args.wait_for):
                missing = (f'{args.wait_for} is not subscribed' if args.wait_for
                           else 'there is no subscriber')
                console.notes.print(f'{missing} after {args.wait:g} s; playing anyway')
            with console.progress_bar(args.bag.name, player.message_count) as advance:
                player.play(progress=advance)
        except KeyboardInterrupt:
            pass  # the number of messages is still printed
        return len(player.sent)
