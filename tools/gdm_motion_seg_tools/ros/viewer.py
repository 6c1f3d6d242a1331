# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A subscriber in a child process that receives what a viewer would receive."""

from collections.abc import Iterator
from contextlib import contextmanager
import os
import signal
import subprocess
import sys
import threading

from gdm_motion_seg.ros.process import dds_environment, end
from gdm_motion_seg_tools.ros.record import OUTPUTS, Recorder
from gdm_motion_seg_tools.ros.session import Session

DENSE = ('mask', 'instances')
"""Outputs that viewers do not need and that are measured separately."""
VIEWED = {topic: kind for topic, kind in OUTPUTS.items()
          if topic.rpartition('/')[2] not in DENSE}
"""Topics and types that a viewer subscribes to."""


@contextmanager
def viewer() -> Iterator[None]:
    """
    Subscribe in a child process while a block runs.

    It is a separate process, as RViz is: receiving must not take time from the process that
    measures.
    """
    process = subprocess.Popen([sys.executable, '-m', __name__],
                               env={**os.environ, **dds_environment()})
    try:
        yield
    finally:
        end(process)


def main() -> None:
    """Subscribe until a signal comes."""
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    with Session('viewer', private=False) as session:
        Recorder(session.node, VIEWED, keep=1)
        done.wait()


if __name__ == '__main__':
    main()
