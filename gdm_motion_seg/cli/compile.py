# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``compile``."""

import argparse
import time

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import add_settings_arguments, config_from
from gdm_motion_seg.progress import progress

EXAMPLE = 'gdm-motion-seg compile'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``compile``."""
    add_settings_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Compile everything that the settings need."""
    config, start = config_from(args), time.monotonic()
    with progress.waiting('loading'):
        from gdm_motion_seg.warm_up import warm_up
        warm_up(config)
    count = f'{progress.compiled} function{"s" if progress.compiled > 1 else ""}'
    console.screen.print(f'{count} compiled in {time.monotonic() - start:.1f} s'
                         if progress.compiled else 'everything was compiled already')
    return 0
