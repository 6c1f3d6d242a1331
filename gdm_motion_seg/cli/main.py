# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``gdm-motion-seg``: finds the module of a command, makes errors sentences."""

import argparse
import atexit
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from importlib import import_module
import os
import sys
from types import ModuleType
from typing import NoReturn

from gdm_motion_seg import __version__
from gdm_motion_seg.cli.interruption import (
    INTERRUPTED, interruptions_arrive, TERMINATED, Terminated)
from gdm_motion_seg.cli.memory import memory_bounded
from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.progress import progress

COMMANDS = {
    'demo': 'render a scene, run the real ROS 2 node on it, score it and leave pictures',
    'synth': 'render a scene with known motions into a bag, with the truth beside it',
    'segment': 'segment two images: overlay and JSON',
    'video': 'process a video or a folder of images: overlay video, bag, tables',
    'bag': 'process a bag without ROS: what the node would have published, video, tables',
    'view': 'show what moves, live in the browser: webcam, video, bag or running node',
    'compile': 'compile everything now, so that no later call has to wait for it',
    'batch': 'process many recordings on all cores or a cluster: a data set and a report',
    'query': 'find the moments in the data set of "batch" at which something moved',
    'replay': 'play a bag onto ROS 2 where "ros2 bag" is not installed',
    'bench': 'measure accuracy or speed, beside other methods',
    'completion': 'print a script that lets a shell complete commands and flags',
}
"""The commands; each is a module of that name with ``add_arguments``, ``run`` and ``EXAMPLE``."""
TOOLS = ('demo', 'synth', 'replay', 'bench')
"""Commands of the package gdm_motion_seg_tools, which a robot does not need."""

BOUNDED = ('segment', 'video', 'bag')
"""Commands that read files of others and start no process."""

DONE, WRONG = 0, 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to look."""
        self.exit(WRONG, f'{self.prog}: {message} (see {self.prog} --help)\n')


def build_parser(*filled: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the flags of some commands are filled in: help comes at once."""
    parser = _Parser(prog='gdm-motion-seg', description='Rigid motions in image streams by '
                     'outlier-aware global dimension minimization.')
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary,
                                  description=f'{summary[0].upper()}{summary[1:]}.',
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in filled and (module := _module(name, len(filled) > 1)):
            module.add_arguments(sub)
            sub.epilog = f'example:\n  {module.EXAMPLE}'
            sub.set_defaults(run=module.run)
    return parser


def _module(name: str, optional: bool) -> ModuleType | None:
    """Import the module of a command; one of the tools may be missing if it is optional."""
    package = 'gdm_motion_seg_tools' if name in TOOLS else 'gdm_motion_seg'
    try:
        return import_module(f'{package}.cli.{name}')
    except ModuleNotFoundError:
        if optional and name in TOOLS:
            return None
        raise


def entry() -> int:
    """
    Run the command line as a process.

    Simple commands end without freeing every object of numba and LLVM, which would take as much
    processor time as the segmentation of two images.
    """
    code = main()
    if _command(sys.argv[1:]) not in BOUNDED:
        return code
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return code  # Python says so when it ends
    os._exit(code)


def _command(words: Sequence[str]) -> str | None:
    """Return the name of the command among the words of a command line."""
    return next((word for word in words if not word.startswith('-')), None)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = _command(words)
    try:
        with progress.reported(_say):
            # In a log, a line about that would only be in the way.
            with progress.waiting('loading') if sys.stderr.isatty() else nullcontext():
                args = build_parser(command).parse_args(words)
            with interruptions_arrive(), ExitStack() as stack:
                if command in BOUNDED:
                    stack.enter_context(memory_bounded())
                return int(args.run(args))
    except GdmMotionSegError as error:
        return _complain(command, str(error))
    except KeyboardInterrupt:
        return _leave(INTERRUPTED)
    except Terminated:
        return _leave(TERMINATED)
    except BrokenPipeError:
        # The reader has closed the pipe; Python must not write to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except ModuleNotFoundError as error:
        package = (error.name or '').partition('.')[0]
        if package in ('', 'gdm_motion_seg'):
            raise
        source = './tools' if package == 'gdm_motion_seg_tools' else package
        return _complain(command, f'it needs the Python package {package}, which is not installed '
                                  f'(pip install {source})')
    except OSError as error:
        where = f'{error.filename}: ' if error.filename else ''
        return _complain(command, f'{where}{error.strerror or error}')
    except MemoryError:
        return _complain(command, 'there is not enough memory for this')


def _say(sentence: str) -> None:
    """Say what is being waited for, above a progress bar if there is one."""
    from gdm_motion_seg.cli.console import notes
    notes.print(sentence, highlight=False, soft_wrap=True)


def _leave(code: int) -> int:
    """Leave quietly: an interrupted compiler complains about itself when it is torn down."""
    sys.unraisablehook = lambda *_: None
    return code


def _complain(command: str | None, sentence: str) -> int:
    print(f'gdm-motion-seg {command}: {sentence}', file=sys.stderr)
    return WRONG


if __name__ == '__main__':
    sys.exit(entry())
