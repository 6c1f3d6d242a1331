# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node, which writes the lines of every module that it has imported; tests start it."""

import atexit
import json
import os
from pathlib import Path
import sys

from gdm_motion_seg.ros.main import main

PACKAGE = 'gdm_motion_seg'


def write_lines() -> None:
    """Write the physical lines of the project's modules to the file LINES."""
    files = {name: Path(module.__file__) for name, module in sys.modules.items()
             if name.split('.')[0] == PACKAGE and module.__file__}
    lines = {name: len(file.read_text(encoding='utf-8').splitlines())
             for name, file in files.items()}
    Path(os.environ['LINES']).write_text(json.dumps(lines), encoding='utf-8')


atexit.register(write_lines)
main()
