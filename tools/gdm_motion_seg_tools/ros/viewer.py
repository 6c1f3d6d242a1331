# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A viewer in a process of its own: subscribes to what people look at, and shows nothing."""

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
"""Outputs that no viewer needs, and that are measured by themselves."""
VIEWED = {topic: kind for topic, kind in OUTPUTS.items()
          if topic.rpartition('/')[2] not in DENSE}
"""Topics and types that a viewer subscribes to."""


@contextmanager
def viewer() -> Iterator[None]:
    """
    Look on while a block runs.

    In a process of its own, because RViz is one: what a viewer receives must not take time from
    the process that measures.
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
