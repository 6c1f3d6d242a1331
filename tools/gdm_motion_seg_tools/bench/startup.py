# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Start-up times: compilation, time without output on the terminal, and a warm call.

Every figure is of the command in a child process, on a terminal (a pty), with a cache of compiled
code that is empty at the beginning. ``..._cpu_s`` is processor time of that process and its
children, including the start of Python and all imports. ``silent_s`` is wall-clock time, so a busy
machine increases it.
"""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass
import os
from pathlib import Path
import pty
import statistics
import subprocess
import sys
from tempfile import TemporaryDirectory
import time

import cv2

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth import Renderer, scene_named

SCENE, FRAMES = 'two_movers', (0, 5)
SIZE = (640, 480)
WARM_CALLS = 3
"""Number of warm calls, of which the median is reported."""
COMMAND = (sys.executable, '-m', 'gdm_motion_seg')


@dataclass(frozen=True)
class Call:
    """One run of a command on a terminal."""

    cpu_s: float
    """Processor time of the process and its children."""
    wall_s: float
    silent_s: float
    """Longest time without a byte on the terminal, from the start to the end of the process."""


def run(args: argparse.Namespace) -> Report:
    """Measure the start-up; ``--seeds`` and the other flags have no effect."""
    with TemporaryDirectory(prefix='gdm_motion_seg_startup_') as folder:
        calls, missed = measure(Path(folder))
    (_, first), (_, compilation), *warm = calls
    summary = {
        'compile_cpu_s': compilation.cpu_s,
        'warm_segment_cpu_s': statistics.median(done.cpu_s for _, done in warm),
        'silent_s': first.silent_s, 'first_segment_cpu_s': first.cpu_s,
        'compile_silent_s': compilation.silent_s, 'compiled_later': float(missed)}
    return make_report('startup', {'startup': summary},
                       [{'call': name, **asdict(done)} for name, done in calls])


def measure(folder: Path) -> tuple[list[tuple[str, Call]], int]:
    """Make all calls; also returns the number of functions that ``compile`` has missed."""
    older, newer = render_pair(folder)
    segment = ('segment', str(older), str(newer), '--out', str(folder / 'out.png'), '--overwrite')
    calls = [('first segment', call(segment, folder / 'first')),
             ('compile', call(('compile',), folder / 'cache'))]
    before = compiled_functions(folder / 'cache')
    calls += [('warm segment', call(segment, folder / 'cache')) for _ in range(WARM_CALLS)]
    missed = compiled_functions(folder / 'cache') - before
    return calls, missed


def render_pair(folder: Path) -> tuple[Path, Path]:
    """Write two images of a rendered scene."""
    renderer = Renderer(scene_named(SCENE), SIZE)
    older, newer = (folder / f'{index}.png' for index in FRAMES)
    for path, index in zip((older, newer), FRAMES):
        cv2.imwrite(str(path), renderer.frame(index).image)
    return older, newer


def compiled_functions(cache: Path) -> int:
    """Return the number of files of machine code in a cache."""
    return sum(1 for _ in cache.rglob('*.nbc'))


def call(words: tuple[str, ...], cache: Path) -> Call:
    """Run a command of the package with a cache folder."""
    cache.mkdir(exist_ok=True)
    return on_terminal((*COMMAND, *words), {**os.environ, 'NUMBA_CACHE_DIR': str(cache)})


def on_terminal(words: tuple[str, ...], environment: Mapping[str, str]) -> Call:
    """Run a command on a terminal and note when bytes arrive there."""
    leader, follower = pty.openpty()
    begin = last = time.monotonic()
    silent, shown = 0.0, b''
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                          env=environment, start_new_session=True) as process:
        os.close(follower)
        while data := _read(leader):
            now = time.monotonic()
            silent, last = max(silent, now - last), now
            shown += data
        os.close(leader)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    end = time.monotonic()
    if process.returncode:
        text = shown.decode(errors='replace').strip()
        raise GdmMotionSegError(f'{" ".join(words[2:4])} ended with exit code '
                                f'{process.returncode}: {text[-300:]}')
    return Call(usage.ru_utime + usage.ru_stime, end - begin, max(silent, end - last))


def _read(leader: int) -> bytes:
    """Read available bytes; empty if the other end is closed."""
    try:
        return os.read(leader, 65536)
    except OSError:
        return b''
