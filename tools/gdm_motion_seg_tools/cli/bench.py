# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``bench``, which the package of that name implements."""

from gdm_motion_seg_tools.bench.command import add_arguments, run

EXAMPLE = 'gdm-motion-seg bench adelaide --data DIR --json adelaide.json'

__all__ = ['add_arguments', 'EXAMPLE', 'run']
