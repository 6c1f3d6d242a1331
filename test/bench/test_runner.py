# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs are complete and resumable, and tolerate failures of methods."""

from dataclasses import replace

import numpy as np
import pytest

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg_tools.bench import runner
from gdm_motion_seg_tools.bench.benchmark import GIVEN, mean_of_medians, STATIC
from gdm_motion_seg_tools.bench.cache import fingerprint, meaning, RowCache
from gdm_motion_seg_tools.bench.methods.base import Method, Prediction
from gdm_motion_seg_tools.bench.methods.registry import METHODS
from gdm_motion_seg_tools.bench.registry import BENCHMARKS
from gdm_motion_seg_tools.bench.runner import plan, run_task, run_tasks, Task
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene


def pairs(count):
    return [replace(make_scene(Scene(n_points=60, n_motions=2), np.random.default_rng(i)),
                    name=f'scene/{i}', group='motions=2') for i in range(count)]


def without_time(rows):
    return [{key: value for key, value in row.items() if key != 'seconds'} for row in rows]


def test_every_method_runs_on_every_pair_in_every_mode_it_can():
    tasks = plan('kt3dmoseg', ['magsac', 'ref'], pairs(2), seeds=3)
    assert len({task.key for task in tasks}) == len(tasks)
    modes = [(task.method, task.mode) for task in tasks]
    assert modes.count(('magsac', GIVEN)) == modes.count(('magsac', STATIC)) == 6
    assert modes.count(('ref', GIVEN)) == 6
    assert ('ref', STATIC) not in modes


def test_worker_processes_give_the_same_rows_and_a_second_run_reads_them(tmp_path):
    tasks = plan('synthetic', ['magsac', 'ref'], pairs(2), seeds=1)
    cache = tmp_path / 'rows.jsonl'
    rows = run_tasks(tasks, jobs=2, cache_file=cache)
    assert without_time(rows) == without_time([run_task(task) for task in tasks])
    assert len(cache.read_text().splitlines()) == len(tasks)
    cache.write_text(cache.read_text() + '{"key": "cut sho')
    again = run_tasks(tasks, jobs=1, cache_file=cache)
    assert again == rows, 'times included: nothing was run again'


def test_only_what_is_missing_is_run_again(tmp_path, monkeypatch):
    tasks = plan('synthetic', ['ref'], pairs(3), seeds=1)
    cache = tmp_path / 'rows.jsonl'
    asked = []

    def here(todo, jobs):
        asked.extend(task.pair.name for task in todo)
        return ((task, run_task(task)) for task in todo)

    monkeypatch.setattr(runner, '_in_processes', here)
    run_tasks(tasks[:2], 1, cache)
    run_tasks(tasks, 1, cache)
    assert asked == ['scene/0', 'scene/1', 'scene/2']
    moved = [replace(task, pair=replace(task.pair, x1=task.pair.x1 + 1.0)) for task in tasks]
    run_tasks(moved, 1, cache)
    assert asked[3:] == ['scene/0', 'scene/1', 'scene/2'], 'other data are not the same pair'


def test_rows_of_other_code_are_not_reused(tmp_path):
    with RowCache(tmp_path / 'r.jsonl') as cache:
        cache.put('a', 'old', {'error': 1.0})
        cache.put('a', 'new', {'error': 2.0})
    with RowCache(tmp_path / 'r.jsonl') as cache:
        assert cache.get('a', 'old') is None
        assert cache.get('a', 'new') == {'error': 2.0}
    assert len((tmp_path / 'r.jsonl').read_text().splitlines()) == 1, 'stale lines are swept out'


def test_the_fingerprint_differs_between_methods_and_benchmarks():
    prints = {fingerprint(METHODS[m], BENCHMARKS[b])
              for m in ('gdm', 'magsac', 'ref') for b in ('adelaide', 'hopkins155')}
    assert len(prints) == 6


def test_comments_and_docstrings_do_not_make_rows_stale_but_constants_do():
    code = 'def f(x):\n    """Say."""\n    return 2 * x\n'
    assert meaning(code) == meaning('def f(x):  # why\n    return (2\n            * x)\n')
    assert meaning(code) != meaning(code.replace('2', '3'))


@pytest.mark.parametrize('segment', [
    lambda pair, k, rng: 1 / 0,
    lambda pair, k, rng: Prediction(np.zeros(3, np.int64)),
    lambda pair, k, rng: Prediction(np.full(len(pair), -7)),
    lambda pair, k, rng: Prediction(np.full(len(pair), np.nan)),
], ids=['raises', 'too short', 'below -1', 'not whole'])
def test_if_a_method_fails_every_point_is_an_outlier(segment, monkeypatch):
    monkeypatch.setitem(METHODS, 'bad', Method('bad', segment))
    row = run_task(Task('synthetic', 'bad', pairs(1)[0], GIVEN, 0))
    assert row['error'] == 100.0
    assert row['failure']


def test_a_missing_dependency_is_not_a_failure_of_the_method(monkeypatch):
    def segment(pair, k, rng):
        raise MissingDependencyError('install it')

    monkeypatch.setitem(METHODS, 'bad', Method('bad', segment))
    with pytest.raises(MissingDependencyError):
        run_task(Task('synthetic', 'bad', pairs(1)[0], GIVEN, 0))


def test_the_summary_is_the_mean_over_pairs_of_the_median_over_seeds():
    rows = [{'pair': 'a', 'error': e} for e in (0.0, 1.0, 50.0)]
    rows += [{'pair': 'b', 'error': e} for e in (3.0, float('nan'))] + [{'pair': 'c'}]
    assert mean_of_medians(rows, 'error') == 2.0
