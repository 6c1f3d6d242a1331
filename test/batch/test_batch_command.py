# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command batch: results, reuse, messages and errors."""

import json
import os
import re
import shutil
import socket
import time

from distributed import Client
from distributed.scheduler import KilledWorker, NoWorkerError
import pytest
from small_jobs import FLAGS, small_job

from gdm_motion_seg.batch import cluster, run
from gdm_motion_seg.batch.recordings import find_recordings
from gdm_motion_seg.batch.run import BatchRun, Progress
from gdm_motion_seg.batch.tasks import FULL, Outcome
from gdm_motion_seg.cli.main import main
from gdm_motion_seg.errors import GdmMotionSegError, InputError


def batch(*words):
    return main(['batch', *map(str, words), *FLAGS])


@pytest.fixture
def inputs(tmp_path, tiny_bags, long_bag):
    """Return a folder with three short bags, a long one, and a truncated one."""
    folder = tmp_path / 'in'
    shutil.copytree(tiny_bags, folder)
    shutil.copytree(long_bag, folder / 'long')
    whole = next((folder / 'bag0').glob('*.mcap')).read_bytes()
    (folder / 'cut.mcap').write_bytes(whole[:len(whole) // 2])
    return folder


@pytest.fixture
def done(tmp_path, tiny_bags, in_process_scheduler):
    """Return the output folder of a run over the short bags."""
    assert batch(tiny_bags, '--out', tmp_path / 'out', '--scheduler', in_process_scheduler) == 0
    return tmp_path / 'out'


def run_of(out):
    """Return which run computed each recording."""
    return {path.stem: json.loads(path.read_text())['run']
            for path in (out / 'recordings').glob('*.json')}


def test_only_what_is_missing_or_has_changed_is_computed(tmp_path, inputs, in_process_scheduler,
                                                         capsys):
    def computed(*flags, scheduler=in_process_scheduler):
        code = batch(inputs, '--out', tmp_path / 'out', '--scheduler', scheduler, '--split', 4,
                     '--overlap', 1.5, '--json', '-', *flags)
        said = capsys.readouterr()
        assert 'Traceback' not in said.err
        document = json.loads(said.out)
        return code, sorted(document['computed']), document['failures']

    code, names, failures = computed()
    assert (code, names) == (1, ['bag0', 'bag1', 'bag2', 'long'])
    assert list(failures) == ['cut'] and 'cut.mcap is not a readable bag' in failures['cut']
    first = run_of(tmp_path / 'out')
    shutil.copy(next((inputs / 'bag0').glob('*.mcap')), inputs / 'cut.mcap')
    os.utime(next((inputs / 'bag1').glob('*.mcap')))
    assert computed() == (0, ['bag1', 'cut'], {})
    second = run_of(tmp_path / 'out')
    assert {name for name in first if second[name] != first[name]} == {'bag1'}
    # If there is nothing to compute, the scheduler is not contacted.
    assert computed(scheduler='tcp://127.0.0.1:1') == (0, [], {})
    assert computed('--set', 'seed=3')[1] == ['bag0', 'bag1', 'bag2', 'cut', 'long']


def test_the_data_set_is_read_by_pandas_polars_and_duckdb(done):
    counts = {'bag0': 10, 'bag1': 10, 'bag2': 10}
    pandas = pytest.importorskip('pandas')
    frame = pandas.read_parquet(done / 'frames')
    assert {str(k): v for k, v in frame.groupby('recording', observed=True).size().items()} \
        == counts
    polars = pytest.importorskip('polars')
    lazy = polars.scan_parquet(f'{done}/frames/**/*.parquet', hive_partitioning=True)
    assert dict(lazy.group_by('recording').len().collect().iter_rows()) == counts
    duckdb = pytest.importorskip('duckdb')
    rows = duckdb.sql(f"select recording, count(*) from read_parquet('{done}/frames/**/*.parquet',"
                      ' hive_partitioning = true) group by recording').fetchall()
    assert dict(rows) == counts


def test_the_report_and_its_pages_load_nothing_from_elsewhere(done):
    pages = [done / 'report.html', *sorted((done / 'pages').iterdir())]
    assert len(pages) == 4
    for page in pages:
        text = page.read_text()
        links = re.findall(r'(?:href|src)="([^"]*)"', text)
        assert all((page.parent / link).is_file() for link in links)
        assert '<script' not in text and 'http' not in text and '@import' not in text
        assert links
    assert all(f'pages/bag{i}.html' in pages[0].read_text() for i in range(3))


def test_names_and_reasons_are_escaped_in_the_report(tmp_path, done, tiny_bags):
    batch_run = BatchRun(small_job(done), find_recordings([str(tiny_bags)]))
    batch_run.failures['x'] = '<script>alert(1)</script>'
    batch_run.sum_up(1)
    assert '<script' not in (done / 'report.html').read_text()


def test_the_report_marks_recordings_of_earlier_settings(done, tiny_bags, in_process_scheduler):
    assert 'other settings' not in (done / 'report.html').read_text()
    assert batch(tiny_bags / 'bag0', '--out', done, '--scheduler', in_process_scheduler,
                 '--set', 'seed=1') == 0
    assert '2 recordings were computed by earlier runs with other settings' in (
        done / 'report.html').read_text()


def test_a_full_disk_stops_the_run_and_keeps_what_is_finished(tmp_path, tiny_bags,
                                                              in_process_scheduler, monkeypatch,
                                                              capsys):
    process = run.process_recording

    def full_at_the_third(job, recording, key):
        if recording.name == 'bag2':
            return Outcome(FULL, 'No space left on device')
        return process(job, recording, key)

    monkeypatch.setattr(run, 'process_recording', full_at_the_third)
    out = tmp_path / 'out'
    flags = ('--out', out, '--scheduler', in_process_scheduler)
    assert batch(tiny_bags / 'bag0', *flags) == 0
    assert batch(tiny_bags, *flags) == 2
    said = capsys.readouterr().err
    assert 'No space left on device; finished work is kept' in said
    assert 'bag0' in run_of(out) and 'bag2' not in run_of(out)


def test_an_unexpected_error_is_retried_twice_and_then_reported(tmp_path, tiny_bags,
                                                                in_process_scheduler, monkeypatch):
    tries = tmp_path / 'tries'

    def fail(job, recording, key):
        with tries.open('a') as file:
            file.write(recording.name + ' ')
        raise ZeroDivisionError('of all things')

    monkeypatch.setattr(run, 'process_recording', fail)
    batch_run = BatchRun(small_job(tmp_path / 'out'), find_recordings([str(tiny_bags / 'bag0')]))
    with Client(in_process_scheduler, set_as_default=False) as client:
        batch_run.work(client)
    assert tries.read_text().split() == ['bag0'] * 3
    assert batch_run.failures == {'bag0': 'ZeroDivisionError: of all things'}


def test_an_unknown_protocol_is_refused_before_a_client_is_made(monkeypatch):
    monkeypatch.setattr(cluster, 'Client', None)
    with pytest.raises(InputError, match='there is no scheduler at nonsense://x'):
        cluster.remote_cluster('nonsense://x').__enter__()


@pytest.mark.parametrize('words, sentence', [
    (['{in}/nowhere'], 'does not exist'),
    (['{in}', '--scheduler', 'tcp://127.0.0.1:{closed}'], 'there is no scheduler at'),
    (['{in}', '--scheduler', 'tcp://127.0.0.1:{mute}'], 'there is no scheduler at'),
    (['{in}', '--scheduler', 'nonsense://x'], 'there is no scheduler at'),
    (['{in}', '--memory', 'much'], 'cannot be started'),
    (['{in}', '--split', '1'], 'too short for an overlap'),
    (['{in}', '--split', 'a'], 'number of seconds'),
    (['{in}', '--set', 'colour=red'], 'no setting called'),
    ([], 'required'),
])
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, tiny_bags, words, sentence, capsys,
                                                   monkeypatch):
    monkeypatch.setattr(cluster, 'CONNECT_S', 1.0)
    with socket.create_server(('127.0.0.1', 0)) as mute, socket.socket() as closed:
        closed.bind(('127.0.0.1', 0))
        places = {'{in}': str(tiny_bags), '{mute}': str(mute.getsockname()[1]),
                  '{closed}': str(closed.getsockname()[1])}
        for old, new in places.items():
            words = [word.replace(old, new) for word in words]
        try:
            code = batch(*words, '--out', tmp_path / 'out')
        except SystemExit as end:
            code = end.code
    said = capsys.readouterr().err
    assert code == 2 and sentence in said
    assert len(said.strip().splitlines()) == 1, said


def test_a_folder_of_someone_else_is_refused_and_left_alone(tmp_path, tiny_bags, capsys):
    (tmp_path / 'thesis.tex').write_text('precious')
    assert batch(tiny_bags, '--out', tmp_path) == 2
    assert 'did not write' in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ['thesis.tex']


def test_without_dask_the_error_has_the_pip_command(tmp_path, tiny_bags, capsys, monkeypatch):
    import sys
    for name in [name for name in sys.modules if name.startswith('gdm_motion_seg.batch')]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'distributed', None)
    monkeypatch.setitem(sys.modules, 'dask', None)
    assert batch(tiny_bags, '--out', tmp_path / 'out') == 2
    assert "pip install 'gdm_motion_seg[batch]'" in capsys.readouterr().err


def versions(dask='2026.1', python='3.11.1.final.0'):
    end = {'host': {'python': python}, 'packages': dict.fromkeys(cluster.COMPARED, dask)}
    return {'client': {'host': {'python': '3.11.9.final.0'},
                       'packages': dict.fromkeys(cluster.COMPARED, '2026.1')},
            'scheduler': end, 'workers': {'tcp://a': end}}


def test_a_cluster_of_another_version_is_refused():
    cluster.check_versions(versions())
    with pytest.raises(InputError, match='the scheduler has dask 2025.9, this command 2026.1'):
        cluster.check_versions(versions(dask='2025.9'))
    with pytest.raises(InputError, match='the scheduler has Python 3.12, this command 3.11'):
        cluster.check_versions(versions(python='3.12.0.final.0'))
    with pytest.raises(InputError, match='tcp://a does not have the gdm_motion_seg'):
        cluster.check_code({'tcp://a': '0.0.0+else'})


def test_workers_that_cannot_access_the_output_folder_are_refused(tmp_path, in_process_scheduler,
                                                                  monkeypatch):
    monkeypatch.setattr(cluster, '_sees', lambda out, name: False)
    with Client(in_process_scheduler, set_as_default=False) as client:
        with pytest.raises(InputError, match='cannot access'):
            cluster.check_shared(client, str(tmp_path))
    assert list((tmp_path / 'recordings').iterdir()) == []


class Ended:
    """A future that ended with an error."""

    def __init__(self, status, error=None):
        self.status, self._error = status, error

    def exception(self):
        return self._error


@pytest.mark.parametrize('future, sentence', [
    (Ended('lost'), 'does not answer any more'),
    (Ended('error', NoWorkerError('task', 60.0)), 'all workers died')])
def test_a_lost_scheduler_and_lost_workers_end_the_run_with_one_sentence(tmp_path, tiny_bags,
                                                                         future, sentence):
    batch_run = BatchRun(small_job(tmp_path), find_recordings([str(tiny_bags)]))
    with pytest.raises(GdmMotionSegError, match=f'{sentence}.*finished work is kept'):
        batch_run._outcome(future, None)


def test_a_part_that_kills_three_workers_is_reported_and_one_that_never_began_is_not(tmp_path,
                                                                                     tiny_bags):
    batch_run = BatchRun(small_job(tmp_path), find_recordings([str(tiny_bags)]))
    task = run._Task(batch_run.missing[0])
    killed = Ended('error', KilledWorker('task', None, 2))
    assert batch_run._outcome(killed, task) is None
    start = {'event': 'start', 'recording': task.recording.name, 'part': 0, 'run': 'test'}
    batch_run._log = run._RunLog(batch_run.store, 'test')
    batch_run._hear((0.0, {**start, 'run': 'of another command'}))
    for _ in range(3):
        batch_run._hear((0.0, start))
    assert '3 workers died' in batch_run._outcome(killed, task).reason


def test_the_remaining_time_is_estimated_from_the_finished_bytes():
    progress = Progress(total=100.0, done=25.0, started=time.monotonic() - 1e5)
    assert progress.share == 0.25 and progress.seconds_left == pytest.approx(3e5, rel=1e-2)
    progress.running['long', 0] = 25.0
    assert progress.share == 0.5
    progress.done, progress.running = 0.0, {}
    assert progress.seconds_left is None
