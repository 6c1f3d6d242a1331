# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``completion``."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
import sys

from gdm_motion_seg.errors import InputError, MissingDependencyError

EXAMPLE = 'gdm-motion-seg completion bash > ~/.local/share/bash-completion/completions/' \
          'gdm-motion-seg'
SHELLS = ('bash', 'zsh', 'fish')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``completion``."""
    parser.add_argument('shell', choices=SHELLS, help='the shell that gets the script')


def run(args: argparse.Namespace) -> int:
    """Print the script; it contains every flag, so that completion does not start Python."""
    from gdm_motion_seg.cli.main import build_parser, COMMANDS

    try:
        shtab = import_module('shtab')
    except ImportError:
        raise MissingDependencyError('completion needs the package shtab: pip install '
                                     "'gdm_motion_seg[completion]'") from None
    if args.shell not in shtab.SUPPORTED_SHELLS:
        raise InputError(f'the installed shtab {shtab.__version__} does not support {args.shell}; '
                         'pip install --upgrade shtab')
    parser = build_parser(*COMMANDS)
    for action in _actions(parser):
        if action.type is Path or action.dest == 'source':
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(parser, args.shell) + '\n')
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the actions of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
