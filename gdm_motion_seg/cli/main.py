# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``gdm-motion-seg``: runs the module of a command and prints errors."""

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
    'demo': 'render a scene, run the ROS 2 node on it, score the result and write pictures',
    'synth': 'render a scene with known motions into a bag, with the ground truth',
    'segment': 'segment two images; writes an overlay and JSON',
    'video': 'process a video or a folder of images; writes an overlay video, a bag, tables',
    'bag': 'process a bag without ROS; writes an overlay video, a bag, tables',
    'view': 'show what moves in the browser: for a webcam, a video, a bag or a running node',
    'compile': 'compile everything now, so that later calls start at once',
    'batch': 'process many recordings on all cores or a cluster; writes a data set and a report',
    'query': 'find the moments in the data set of "batch" at which something moved',
    'replay': 'play a bag to ROS 2 topics, without "ros2 bag"',
    'bench': 'measure accuracy and speed, and compare with other methods',
    'completion': 'print a completion script for a shell',
}
"""The commands; each is a module of that name with ``add_arguments``, ``run`` and ``EXAMPLE``."""
TOOLS = ('demo', 'synth', 'replay', 'bench')
"""Commands of the package gdm_motion_seg_tools, which a robot does not need."""

BOUNDED = ('segment', 'video', 'bag')
"""Commands that read untrusted files and start no process."""

DONE, WRONG = 0, 2


class _Parser(argparse.ArgumentParser):
    """A parser that prints errors as one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the error and a hint, and exit."""
        self.exit(WRONG, f'{self.prog}: {message} (see {self.prog} --help)\n')


def build_parser(*filled: str | None) -> argparse.ArgumentParser:
    """Build the parser, with the flags of some commands only, so that help is fast."""
    parser = _Parser(prog='gdm-motion-seg', description='Finds what moves in the images '
                     'of one moving camera.')
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
    """Import the module of a command; a missing tool is an error unless it is optional."""
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

    Simple commands end without freeing the objects of numba and LLVM: that would take as much
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
            # In a log file such lines would only be clutter.
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
    """Print what the command waits for, above a progress bar if there is one."""
    from gdm_motion_seg.cli.console import notes
    notes.print(sentence, highlight=False, soft_wrap=True)


def _leave(code: int) -> int:
    """End without the messages that an interrupted compiler prints at exit."""
    sys.unraisablehook = lambda *_: None
    return code


def _complain(command: str | None, sentence: str) -> int:
    print(f'gdm-motion-seg {command}: {sentence}', file=sys.stderr)
    return WRONG


if __name__ == '__main__':
    sys.exit(entry())
