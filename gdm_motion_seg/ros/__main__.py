# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The executable ``motion_seg_node``.

While libraries are loaded there is nothing to clean up, and a library may hold the GIL for a long
time (OpenBLAS forever, if memory is short). So until the node installs its handlers, a signal ends
the process at once, without the traceback of Python's handler for SIGINT. This comes before all
other imports, which take a tenth of a second without a cache.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys  # noqa: E402

from gdm_motion_seg.ros.main import main  # noqa: E402

if __name__ == '__main__':
    sys.exit(main())
