# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The workers: a local Dask cluster, or the workers of a given scheduler."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import logging
import os
import signal
import threading
from typing import Any
import uuid

import dask
from distributed import Client, LocalCluster, WorkerPlugin
from distributed.comm.addressing import parse_address
from distributed.comm.core import connect
from distributed.comm.registry import get_backend

from gdm_motion_seg.batch.job import code_digest
from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.errors import GdmMotionSegError, InputError

RETRIES = 2
"""Number of retries of a part."""
CONNECT_S = 10.0
NO_WORKERS_S = 60.0
"""Time without a worker after which a local cluster fails."""
PRELOAD = 'gdm_motion_seg.batch.preload'
COMPARED = ('dask', 'distributed', 'msgpack')
"""Packages that must have the same version in this process, the scheduler and the workers."""


@contextmanager
def local_cluster(workers: int, memory: str) -> Iterator[Client]:
    """Start workers on this machine, each a process with one thread and a memory limit."""
    settings = {
        'distributed.scheduler.allowed-failures': RETRIES,
        'distributed.worker.preload': [PRELOAD],
        # A worker gets one task at a time, so that waiting tasks are not blamed if it dies.
        'distributed.scheduler.worker-saturation': 1.0,
        # Do not wait forever for workers that die and cannot be restarted.
        'distributed.scheduler.no-workers-timeout': f'{NO_WORKERS_S:g}s',
        # Results are in files, so there is nothing to spill, and a worker that pauses because its
        # memory is short would wait forever. It is ended instead, and its part is retried.
        'distributed.worker.memory.target': False,
        'distributed.worker.memory.spill': False,
        'distributed.worker.memory.pause': False,
        # No warning for a garbage collection or a long call of compiled code.
        'distributed.admin.tick.limit': '1h',
    }
    with dask.config.set(settings):
        try:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, memory_limit=memory,
                host='127.0.0.1', dashboard_address='127.0.0.1:0', silence_logs=logging.CRITICAL)
        except ValueError as error:
            raise InputError(f'the workers cannot be started: {error}') from None
        with cluster, Client(cluster, set_as_default=False) as client:
            try:
                client.register_plugin(Quiet())
            except OSError:
                raise GdmMotionSegError('the workers died while they started; is the memory '
                                        f'limit ({memory}) too low?') from None
            yield client


@contextmanager
def remote_cluster(address: str) -> Iterator[Client]:
    """Connect to a scheduler; raises InputError if there is none or its versions differ."""
    for name in ('distributed.comm', 'distributed.client', 'distributed.core'):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        # A client that fails in its constructor closes itself when it is collected as garbage. If
        # that happens while another one starts, Dask's lock is taken twice by one thread.
        get_backend(parse_address(address)[0])
        if address.startswith('tcp://') or '://' not in address:
            asyncio.run(asyncio.wait_for(_greet(address), CONNECT_S))
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError, asyncio.TimeoutError) as error:
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise InputError(f'there is no scheduler at {address}: {reason[:200]}') from None
    with client:
        versions: Any = client.get_versions()
        check_versions(versions)
        codes = client.run(code_digest, on_error='return')
        check_code({worker: str(code) for worker, code in codes.items()})
        yield client


async def _greet(address: str) -> None:
    """Connect once with a timeout: a client would wait forever for a port that does not answer."""
    comm = await connect(address, timeout=CONNECT_S)
    await comm.close()


def check_versions(versions: Mapping[str, Any]) -> None:
    """Refuse a cluster whose packages differ from those of this process."""
    own = versions['client']
    ends = {'the scheduler': versions['scheduler'], **{
        f'the worker {address}': found for address, found in versions['workers'].items()}}
    for end, found in ends.items():
        if found is None:
            continue
        for package in COMPARED:
            theirs, ours = found['packages'].get(package), own['packages'].get(package)
            if theirs != ours:
                raise InputError(f'{end} has {package} {theirs}, this command {ours}; both need '
                                 'the same')
        theirs, ours = (tuple(part['host']['python'].split('.')[:2]) for part in (found, own))
        if theirs != ours:
            raise InputError(f'{end} has Python {".".join(theirs)}, this command '
                             f'{".".join(ours)}; both need the same')


def check_code(codes: Mapping[str, str]) -> None:
    """Refuse workers with another version of this package."""
    for worker, code in codes.items():
        if code != code_digest():
            raise InputError(f'the worker {worker} does not have the gdm_motion_seg that '
                             f'this command has ({code_digest()}): {code}')


def check_shared(client: Client, out: str) -> None:
    """Refuse workers that cannot access the output folder."""
    store, name = Store(out), f'recordings/.probe-{uuid.uuid4().hex}'
    store.write(name, b'')
    try:
        for worker, seen in client.run(_sees, out, name, on_error='return').items():
            if seen is not True:
                reason = f' ({seen})' if isinstance(seen, Exception) else ''
                raise InputError(f'the worker {worker} cannot access {out}{reason}; choose a '
                                 'folder or an address that all workers share')
    finally:
        store.remove(name)


def _sees(out: str, name: str) -> bool:
    return Store(out).exists(name)


def dashboard(client: Client) -> str:
    """Return the address of the dashboard, or why there is none."""
    try:
        import bokeh  # noqa: F401
    except ImportError:
        return 'no dashboard: it needs bokeh (pip install bokeh)'
    return f'dashboard: {client.dashboard_link}'


class Quiet(WorkerPlugin):
    """Plugin that lets workers ignore Ctrl-C and suppresses their logs."""

    name = 'gdm-motion-seg-quiet'

    def __init__(self) -> None:
        """Remember the process of the command, which must not ignore Ctrl-C."""
        self._command = os.getpid()

    def setup(self, worker: Any) -> None:
        """Prepare a worker."""
        logging.getLogger('distributed').setLevel(logging.CRITICAL)
        if (os.getpid() != self._command
                and threading.current_thread() is threading.main_thread()):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
