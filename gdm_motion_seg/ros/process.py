# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The node in a process of its own, for the demonstration, the benchmarks and the tests.

Everything runs in a DDS domain of its own on this machine alone, so that it neither disturbs a
robot nor is disturbed.
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
"""How DDS chooses its ports (RTPS specification, section 9.6.1), for ten participants."""
STOP_S = 10.0


@functools.cache
def private_domain() -> int:
    """Return a domain id that nobody else on this machine uses, kept until this process ends."""
    for i in range(len(DOMAINS)):
        # Where to begin is a matter of chance, so that a domain is not used again at once.
        domain = DOMAINS[(os.getpid() + i) % len(DOMAINS)]
        if str(domain) != os.environ.get('ROS_DOMAIN_ID') and _claim(domain):
            return domain
    raise GdmMotionSegError(
        f'all DDS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use on this machine')


_claims: list[socket.socket] = []
"""Kept open: the system gives a port back when the process ends, however it does."""


def _claim(domain: int) -> bool:
    """
    Take a domain; returns False if somebody has it.

    The ports of a domain are the same for everybody who could meet there (in other containers
    with this network, too). DDS uses them for UDP alone: those of the first participants tell
    whether there are any (a process that is in other domains, too, does not begin with the first),
    and the same number for TCP is free to be the sign of our claim.
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
    """Return the variables that keep DDS on this machine, let images through and keep none."""
    profile = str(resource('config', 'fastdds.xml'))
    return {**domain_environment(domain), 'FASTRTPS_DEFAULT_PROFILES_FILE': profile,
            'FASTDDS_DEFAULT_PROFILES_FILE': profile, 'RMW_FASTRTPS_USE_QOS_FROM_XML': '1'}


def domain_environment(domain: int | None = None) -> dict[str, str]:
    """Return the variables that keep DDS on this machine, with its own defaults otherwise."""
    return {'ROS_DOMAIN_ID': str(private_domain() if domain is None else domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


@contextmanager
def dds_here(domain: int | None = None) -> Iterator[dict[str, str]]:
    """Set these variables in this process for a while, in which a context is made."""
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
        ROS_DOMAIN_ID; one of this process's own if not given.
    log
        File for what the node says; where it is None, it goes to this process's stderr.

    """

    def __init__(self, settings: Mapping[str, Any] | None = None,
                 remappings: Mapping[str, str] | None = None, domain: int | None = None,
                 log: Path | None = None, arguments: Sequence[str] = ()) -> None:
        """Note what to start."""
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
        """Send SIGINT and return the exit code; kills what does not end in time."""
        return end(self.process, signal.SIGINT, timeout)

    def output(self) -> str:
        """Return what the node has said so far; needs a log."""
        return self._log.read_text(errors='replace') if self._log else ''

    def __enter__(self) -> 'NodeProcess':
        """Start the node."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """End the node."""
        self.stop()


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM,
        timeout: float = STOP_S) -> int:
    """Send a signal and return the exit code; kills what does not end in time."""
    process.send_signal(number)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return kill(process)


def kill(process: subprocess.Popen[bytes]) -> int:
    """Kill a process and remove what it leaves in shared memory; returns its exit code."""
    segments = segments_of(process.pid) if process.poll() is None else set()
    process.kill()
    code = process.wait()
    remove_abandoned(segments)
    return code


def _arguments(settings: Mapping[str, Any], remappings: Mapping[str, str]) -> list[str]:
    arguments = []
    for name, value in settings.items():
        # JSON is YAML, and quotes a text so that it stays one.
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    for name, topic in remappings.items():
        arguments += ['-r', f'{name}:={topic}']
    return arguments
