# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The diagnostics, made from the measurements; this module does not use rclpy."""

from collections.abc import Mapping
from dataclasses import dataclass
import os

from gdm_motion_seg.ros.adaptation import Pace
from gdm_motion_seg.ros.measurements import Snapshot

OK, WARN, ERROR = range(3)
"""Levels of diagnostic_msgs/DiagnosticStatus."""
LISTENERS = 'listeners of '
"""Prefix of the keys with the number of subscribers of each output."""
MAX_OTHERS = 8
"""Largest number of other image topics that are listed if the configured one has no publisher."""
SHARED_MEMORY, ENOUGH_MEMORY = '/dev/shm', 16 * 2**20
"""Folder of the shared memory of DDS, and bytes for a few images. Docker gives a container 64 MiB
if it is not told otherwise."""
RECENT_S = 5.0
"""Time for which a problem keeps the level at WARN, so that a person or a monitor sees it."""


@dataclass(frozen=True)
class Health:
    """The status of one component."""

    name: str
    level: int
    message: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """What is known about the publishers of the image topic."""

    topic: str
    publishers: int
    mismatch: str = ''
    """Why the images of a publisher cannot be received; empty if they can."""
    others: tuple[str, ...] = ()
    """Other topics on which images of the wanted type are published."""

    @property
    def no_publisher(self) -> str:
        """Return a sentence that the topic has no publisher, with the image topics that exist."""
        if not self.others:
            return f'{self.topic} has no publisher'
        more = ', ...' if len(self.others) > MAX_OTHERS else ''
        return (f'{self.topic} has no publisher; there are images on '
                f'{", ".join(self.others[:MAX_OTHERS])}{more}')


def input_health(node: str, state: str, active_for: float, source: Source, snapshot: Snapshot,
                 patience: float) -> Health:
    """
    Return the status of the input.

    The node is in ``state`` and has been active for ``active_for`` seconds; ``patience`` is the
    time without images, in seconds, after which the status is a warning.
    """
    level, message = _input_level(state, active_for, source, snapshot, patience)
    counts = snapshot.counts
    return Health(f'{node}: images', level, message, {
        'topic': source.topic, 'publishers': str(source.publishers),
        'rate (Hz)': f'{snapshot.input_rate:.2f}',
        **{name: str(counts.get(name, 0)) for name in ('received', 'dropped', 'refused')}})


def _input_level(state: str, active_for: float, source: Source, snapshot: Snapshot,
                 patience: float) -> tuple[int, str]:
    if state != 'active':
        return OK, f'not listening: the node is {state}'
    silence = active_for if snapshot.since_input is None else snapshot.since_input
    if source.mismatch:
        return ERROR, source.mismatch
    if silence > patience:
        if source.publishers == 0:
            return WARN, source.no_publisher
        return WARN, f'no image on {source.topic} for {silence:.0f} s, although it has a publisher'
    if snapshot.since_input is None:
        return OK, f'waiting for the first image on {source.topic}'
    return OK, f'{snapshot.input_rate:.1f} images a second'


def output_health(node: str, state: str, snapshot: Snapshot, patience: float,
                  listeners: Mapping[str, int], busy: str = '',
                  pace: Pace = Pace()) -> Health:
    """
    Return the status of the output.

    ``patience`` is the time without results, in seconds, after which the status is an error;
    ``listeners`` counts the subscribers of each output; ``busy`` says what the node waits for,
    such as the compiler.
    """
    level, message = _output_level(state, snapshot, patience, busy, pace)
    counts = snapshot.counts
    problem = snapshot.problem
    if problem and snapshot.since_problem is not None:
        problem += f' ({snapshot.since_problem:.0f} s ago)'
    return Health(f'{node}: motions', level, message, {
        'state': state, 'rate (Hz)': f'{snapshot.output_rate:.2f}',
        **{name: str(counts.get(name, 0))
           for name in ('answered', 'published', 'unanswered', 'failed', 'abandoned')},
        'latency p50 (ms)': f'{1e3 * snapshot.latency[0]:.1f}',
        'latency p95 (ms)': f'{1e3 * snapshot.latency[1]:.1f}',
        'age p50 (ms)': f'{1e3 * snapshot.age[0]:.1f}',
        'age p95 (ms)': f'{1e3 * snapshot.age[1]:.1f}',
        'tracks': str(snapshot.tracks), 'motions': str(snapshot.motions),
        'load': f'{pace.load:.2f}', 'share of tracks and effort': f'{pace.share:.2f}',
        'note': snapshot.note or 'none', 'last problem': problem or 'none',
        **{f'{LISTENERS}{name}': str(count) for name, count in listeners.items()}})


def _output_level(state: str, snapshot: Snapshot, patience: float, busy: str,
                  pace: Pace) -> tuple[int, str]:
    if state != 'active':
        return OK, f'the node is {state}' + (f': {busy}' if busy else '')
    if snapshot.waiting > patience:
        why = busy or snapshot.problem
        reason = f': {why}' if why else ''
        return ERROR, f'no frame answered for {snapshot.waiting:.0f} s while images come{reason}'
    if snapshot.since_problem is not None and snapshot.since_problem < RECENT_S:
        return WARN, snapshot.problem
    if snapshot.since_output is None:
        return OK, 'no frame answered yet'
    if pace.at_floor:
        return WARN, (f'the machine is too slow: an image takes {pace.load:.1f} periods of the '
                      'camera, and the number of tracks cannot be reduced further')
    if pace.share < 1.0:
        return OK, (f'{snapshot.motions} motions of {snapshot.tracks} tracks; {pace.share:.0%} '
                    'of the tracks and of the effort, to keep up with the images')
    return OK, snapshot.note or f'{snapshot.motions} motions of {snapshot.tracks} tracks'


def shared_memory_problem(folder: str = SHARED_MEMORY) -> str:
    """Say that images will get lost for lack of shared memory; empty if they will not."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return ''  # another system, with another kind of shared memory
    free = space.f_bavail * space.f_frsize
    if free >= ENOUGH_MEMORY:
        return ''
    return (f'{folder} has only {free / 2**20:.1f} MiB free: images from this machine may get '
            'lost (docker run --shm-size=256m gives more)')
