# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The node in a child process, for the demo, the benchmarks and the tests.

It runs in a separate DDS domain that is limited to this machine, so that it does not interfere
with a robot.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import functools
import json
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
from typing import Any

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.resources import resource
from gdm_motion_seg.ros.segments import remove_abandoned, segments_of

DOMAINS = range(1, 101)
"""Domain ids whose ports are free on every operating system (0 is the default one)."""
DISCOVERY_PORT, PORTS_PER_DOMAIN, PARTICIPANTS = 7400, 250, range(10, 30, 2)
"""Port numbers of DDS (RTPS specification, section 9.6.1), for ten participants."""
STOP_S = 10.0


@functools.cache
def private_domain() -> int:
    """Return a domain id that is not in use on this machine, and reserve it for this process."""
    for i in range(len(DOMAINS)):
        # Begin at a different domain in each process, so that a domain is not reused at once.
        domain = DOMAINS[(os.getpid() + i) % len(DOMAINS)]
        if str(domain) != os.environ.get('ROS_DOMAIN_ID') and _claim(domain):
            return domain
    raise GdmMotionSegError(
        f'all DDS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use on this machine')


_claims: list[socket.socket] = []
"""Open sockets; the system frees their ports when the process ends."""


def _claim(domain: int) -> bool:
    """
    Reserve a domain; returns False if it is in use.

    The ports of a domain are the same for all participants (also in other containers that share
    the network). DDS uses them for UDP only: bound ports show that there are participants. Several
    are tried, because a process that also uses other domains does not always take the first. The
    TCP port of the same number is bound as the reservation.
    """
    port = DISCOVERY_PORT + PORTS_PER_DOMAIN * domain
    claim = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        claim.bind(('127.0.0.1', port))
        for offset in PARTICIPANTS:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
                participant.bind(('127.0.0.1', port + offset))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def dds_environment(domain: int | None = None) -> dict[str, str]:
    """Return variables that limit DDS to this machine and set the Fast DDS profile for images."""
    profile = str(resource('config', 'fastdds.xml'))
    return {**domain_environment(domain), 'FASTRTPS_DEFAULT_PROFILES_FILE': profile,
            'FASTDDS_DEFAULT_PROFILES_FILE': profile, 'RMW_FASTRTPS_USE_QOS_FROM_XML': '1'}


def domain_environment(domain: int | None = None) -> dict[str, str]:
    """Return variables that limit DDS to this machine and change nothing else."""
    return {'ROS_DOMAIN_ID': str(private_domain() if domain is None else domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


@contextmanager
def dds_here(domain: int | None = None) -> Iterator[dict[str, str]]:
    """Set these variables in this process for the block, in which a context is made."""
    wanted = dds_environment(domain)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield wanted
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class NodeProcess:
    """
    ``motion_seg_node`` as a child process; use it in a ``with`` statement.

    Parameters
    ----------
    settings
        Parameters of the node, ``{'tracking.frame_gap': 3}``.
    remappings
        Topics, ``{'image': '/camera/image_raw'}``.
    domain
        ROS_DOMAIN_ID; by default the domain that is reserved for this process.
    log
        File for the output of the node; by default its output is that of this process.

    """

    def __init__(self, settings: Mapping[str, Any] | None = None,
                 remappings: Mapping[str, str] | None = None, domain: int | None = None,
                 log: Path | None = None, arguments: Sequence[str] = ()) -> None:
        """Prepare the command."""
        self._command = [sys.executable, '-m', 'gdm_motion_seg.ros', '--ros-args',
                         *_arguments(settings or {}, remappings or {}), *arguments]
        self._environment = {**os.environ, **dds_environment(domain), 'PYTHONUNBUFFERED': '1'}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """Return the child process."""
        if self._process is None:
            raise GdmMotionSegError('the node has not been started')
        return self._process

    @property
    def alive(self) -> bool:
        """Whether the node still runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> 'NodeProcess':
        """Start the process; it is not yet active when this returns."""
        output = self._log.open('wb') if self._log else None
        try:
            self._process = subprocess.Popen(self._command, env=self._environment,
                                             stdin=subprocess.DEVNULL, stdout=output,
                                             stderr=subprocess.STDOUT if output else None)
        finally:
            if output:
                output.close()
        return self

    def stop(self, timeout: float = STOP_S) -> int:
        """Send SIGINT and return the exit code; kill the process on a timeout."""
        return end(self.process, signal.SIGINT, timeout)

    def output(self) -> str:
        """Return the output of the node so far; needs a log."""
        return self._log.read_text(errors='replace') if self._log else ''

    def __enter__(self) -> 'NodeProcess':
        """Start the node."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """End the node."""
        self.stop()


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM,
        timeout: float = STOP_S) -> int:
    """Send a signal and return the exit code; kill the process on a timeout."""
    process.send_signal(number)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return kill(process)


def kill(process: subprocess.Popen[bytes]) -> int:
    """Kill a process and remove its segments of shared memory; returns its exit code."""
    segments = segments_of(process.pid) if process.poll() is None else set()
    process.kill()
    code = process.wait()
    remove_abandoned(segments)
    return code


def _arguments(settings: Mapping[str, Any], remappings: Mapping[str, str]) -> list[str]:
    arguments = []
    for name, value in settings.items():
        # JSON is valid YAML, and quotes strings such as "1".
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    for name, topic in remappings.items():
        arguments += ['-r', f'{name}:={topic}']
    return arguments
