# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Worker processes that are joined by address, killed, or interrupted."""

from collections import Counter
from contextlib import contextmanager, suppress
import json
import os
import signal
import subprocess
import sys
import threading
import time

from pyarrow import parquet
import pytest
from small_jobs import FLAGS

from gdm_motion_seg.cli.main import main

psutil = pytest.importorskip('psutil')
PATIENCE_S = 180.0
PARTS = ('--split', '4', '--overlap', '1.5')


def events(out):
    """Read the log of all runs; a line that is being written is left out."""
    found = []
    for log in sorted((out / 'runs').glob('*.jsonl')):
        for line in log.read_text().splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return found


def wait_for(condition):
    """Wait until a condition is true; returns its value."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    pytest.fail('it did not happen in time')


@contextmanager
def process(*words, **options):
    """Run a Python module in a new process, and end it."""
    child = subprocess.Popen([sys.executable, '-m', *map(str, words)], **options)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@contextmanager
def scheduler_with_two_workers(folder):
    """Return the address of a scheduler and the ids of two worker processes that joined it."""
    file = folder / 'scheduler.json'
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, 'cwd': folder}
    worker = ('distributed.cli.dask_worker', '--scheduler-file', file, '--nthreads', 1,
              '--no-nanny', '--no-dashboard', '--host', '127.0.0.1')
    with process('distributed.cli.dask_scheduler', '--host', '127.0.0.1', '--port', 0,
                 '--no-dashboard', '--scheduler-file', file, **quiet):
        wait_for(file.is_file)
        with process(*worker, **quiet) as one, process(*worker, **quiet) as two:
            yield wait_for(lambda: address_in(file)), {one.pid, two.pid}


def address_in(file):
    with suppress(ValueError):
        return json.loads(file.read_text())['address']


def test_workers_load_the_code_before_they_have_a_task():
    from gdm_motion_seg.batch.cluster import local_cluster
    with local_cluster(1, 'auto') as client:
        wait_for(lambda: all(client.run(
            lambda: 'gdm_motion_seg.segmentation.stream' in sys.modules).values()))


def test_if_a_worker_is_killed_only_its_part_is_lost(tmp_path, tiny_bags, long_bag):
    out = tmp_path / 'out'
    killed = []

    def kill_in_mid_part(pids):
        def started():
            return next((e for e in events(out) if e['event'] == 'start' and e['parts'] > 1), None)
        event = wait_for(started)
        assert event['pid'] in pids
        os.kill(event['pid'], signal.SIGKILL)
        killed.append((event['recording'], event['part']))

    with scheduler_with_two_workers(tmp_path) as (address, pids):
        killer = threading.Thread(target=kill_in_mid_part, args=(pids,))
        killer.start()
        code = main(['batch', str(long_bag), str(tiny_bags), '--out', str(out), '--scheduler',
                     address, *PARTS, *FLAGS])
        killer.join()
    assert code == 0 and len(killed) == 1
    frames = {path.parent.name: parquet.ParquetFile(path).metadata.num_rows
              for path in out.glob('frames/*/*.parquet')}
    assert frames == {'recording=long': 150, 'recording=bag0': 10, 'recording=bag1': 10,
                      'recording=bag2': 10}
    ends = Counter((e['recording'], e['part']) for e in events(out) if e['event'] == 'end')
    assert all(count == 1 for part, count in ends.items() if part != killed[0])
    assert len({e['pid'] for e in events(out) if e['event'] == 'start'}) == 2


def test_ctrl_c_keeps_finished_recordings_and_the_same_command_continues(tmp_path, tiny_bags,
                                                                         long_bag, capsys,
                                                                         in_process_scheduler):
    out = tmp_path / 'out'
    words = ['batch', str(tiny_bags), str(long_bag), '--out', str(out), *PARTS, *FLAGS]
    with process('gdm_motion_seg', *words, '--workers', 1, stderr=subprocess.PIPE, text=True,
                 start_new_session=True) as command:
        wait_for(lambda: list(out.glob('recordings/*.json')))
        children = psutil.Process(command.pid).children(recursive=True)
        # A terminal sends it to all processes of the group.
        os.killpg(command.pid, signal.SIGINT)
        said = command.communicate(timeout=PATIENCE_S)[1]
    assert command.returncode == 130, said
    assert 'recordings are finished and kept' in said and 'Traceback' not in said, said
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert not alive
    before = {path.stem: json.loads(path.read_text())['run']
              for path in out.glob('recordings/*.json')}
    assert before and (out / 'report.html').is_file()
    assert main([*words, '--scheduler', in_process_scheduler, '--json', '-']) == 0
    computed = json.loads(capsys.readouterr().out)['computed']
    assert set(computed) == {'bag0', 'bag1', 'bag2', 'long'} - set(before)
