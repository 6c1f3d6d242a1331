# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The executable ``motion_seg_node``.

While libraries are loaded there is nothing to put in order, and a library may hold Python's lock
for long (OpenBLAS for ever, where memory is short). So until the node has handlers of its own a
signal ends the process at once, without the traceback of Python's handler for SIGINT. This
comes before all other imports, which take a tenth of a second where nothing is cached.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys  # noqa: E402

from gdm_motion_seg.ros.main import main  # noqa: E402

if __name__ == '__main__':
    sys.exit(main())
