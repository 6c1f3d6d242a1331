# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Speed of the engine, compared with a plain transcription of Algorithm 1, and its growth.

Both run the complete Algorithm 1 on one thread: agglomerative starts from the same random numbers,
the same restarts, steps and sweeps. Their results are compared, too. Seconds are processor time.

The plain transcription makes all n3 sweeps of point-by-point reassignment, as the algorithm is
printed; the engine stops when no point has moved, with the same result. For ``speedup_at_rest``
the plain transcription stops, too.
"""

import argparse
import importlib.util
from pathlib import Path
import time
from types import ModuleType
from typing import Any

import numpy as np
from rich.progress import track

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.gdm import GdmConfig, minimize_global_dimension, warm_up
from gdm_motion_seg.gdm import kernels
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg_tools.bench.report import make_report, Report

PLAIN = Path(__file__).parents[3] / 'test' / 'gdm' / 'plain_algorithm1.py'
DIMENSIONS = (6, 7, 8)
AMBIENT = 9
NOISE = 0.01
N_POINTS, N_MANY = 500, 4000
N_RESTARTS = 10
N_LIVE_STARTS = 5
PAPER = GdmConfig(n1=0, search='paper')


def run(args: argparse.Namespace) -> Report:
    """Measure the engine; ``args.seeds`` data sets, of which the median counts."""
    limit_threads(1)
    warm_up(AMBIENT)
    plain = load_plain()
    rows = [measure(seed, plain) for seed in track(range(args.seeds), 'engine')]
    return make_report('engine', {'engine': summarise(rows)}, rows)


def measure(seed: int, plain: ModuleType, n_points: int = N_POINTS, n_many: int = N_MANY,
            n_restarts: int = N_RESTARTS) -> dict[str, Any]:
    """Run both on one data set, and the engine on one with many points."""
    vectors, _ = hybrid_linear(seed, n_points)
    draws = _draws(seed, n_restarts, n_points)
    seconds, result = timed(vectors, draws)
    plain_seconds, sweep_seconds, labels, value = timed_plain(plain, vectors, draws)
    spared = sweep_seconds * (1.0 - result.sweeps.mean() / PAPER.n3)
    many, _ = hybrid_linear(seed, n_many)
    return {'seed': seed, 'plain_ms': 1e3 * plain_seconds,
            'plain_at_rest_ms': 1e3 * (plain_seconds - spared), 'engine_ms': 1e3 * seconds,
            'engine_many_ms': 1e3 * timed(many, _draws(seed, n_restarts, n_many), 2)[0],
            'live_ms': 1e3 * live_seconds(seed, n_points),
            'same_labels': float(np.array_equal(labels, result.labels)),
            'global_dimension': result.global_dimension,
            'difference': abs(result.global_dimension - value)}


def timed_plain(plain: ModuleType, vectors: FloatArray, draws: FloatArray,
                ) -> tuple[float, float, IntArray, float]:
    """Run the plain transcription; returns its time, that of its sweeps, labels and their GD."""
    k, epsilon, p = len(DIMENSIONS), PAPER.epsilon, PAPER.p
    begin = time.process_time()
    starts = [plain.agglomerative_start(vectors, k, epsilon, p, own) for own in draws]
    middle = time.process_time()
    plain.algorithm1(vectors, k, epsilon, p, PAPER.n2, 0, starts)
    later = time.process_time()
    labels, value, _ = plain.algorithm1(vectors, k, epsilon, p, PAPER.n2, PAPER.n3, starts)
    end = time.process_time()
    return (middle - begin) + (end - later), (end - later) - (later - middle), labels, value


def timed(vectors: FloatArray, draws: FloatArray, repeats: int = 5) -> tuple[float, Any]:
    """Run Algorithm 1 with the engine; returns the smallest time and the result."""
    best, k = np.inf, len(DIMENSIONS)
    for _ in range(repeats):
        begin = time.process_time()
        starts = [kernels.agglomerate(vectors, k, PAPER.epsilon, PAPER.p, own, kernels.BY_UNION)
                  for own in draws]
        result = minimize_global_dimension(vectors, k, PAPER, starts=starts)
        best = min(best, time.process_time() - begin)
    return best, result


def live_seconds(seed: int, n_points: int) -> float:
    """Time the default search with a few starts that are mostly right."""
    vectors, truth = hybrid_linear(seed, n_points)
    rng = np.random.default_rng(seed)
    starts = np.where(rng.random((N_LIVE_STARTS, n_points)) < 0.1,
                      rng.integers(0, len(DIMENSIONS), (N_LIVE_STARTS, n_points)), truth)
    best = np.inf
    for _ in range(10):
        begin = time.process_time()
        minimize_global_dimension(vectors, len(DIMENSIONS), GdmConfig(n1=0), starts=starts)
        best = min(best, time.process_time() - begin)
    return best


def summarise(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Take medians over the data sets."""
    def median(ratio: Any) -> float:
        return float(np.median([ratio(row) for row in rows]))
    return {'speedup': median(lambda row: row['plain_ms'] / row['engine_ms']),
            'speedup_at_rest': median(lambda row: row['plain_at_rest_ms'] / row['engine_ms']),
            'growth': median(lambda row: row['engine_many_ms'] / row['engine_ms']),
            'ms': median(lambda row: row['engine_ms']),
            'plain_ms': median(lambda row: row['plain_ms']),
            'live_ms': median(lambda row: row['live_ms']),
            'same_labels': float(np.mean([row['same_labels'] for row in rows]))}


def _draws(seed: int, n_restarts: int, n_points: int) -> FloatArray:
    return np.random.default_rng(seed).random(
        (n_restarts, n_points - len(DIMENSIONS), PAPER.n_pairs, 2))


def hybrid_linear(seed: int, n_points: int) -> tuple[FloatArray, IntArray]:
    """Draw noisy points from three random subspaces of R^9."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_points) % len(DIMENSIONS)
    vectors = NOISE * rng.normal(size=(n_points, AMBIENT))
    for k, dimension in enumerate(DIMENSIONS):
        basis = np.linalg.qr(rng.normal(size=(AMBIENT, dimension)))[0]
        members = truth == k
        vectors[members] += rng.normal(size=(int(members.sum()), dimension)) @ basis.T
    return vectors, truth


def load_plain() -> ModuleType:
    """Load the plain transcription from the tests."""
    if not PLAIN.is_file():
        raise MissingDependencyError(
            'bench engine needs the plain transcription of Algorithm 1 in '
            f'test/gdm/{PLAIN.name}, which is only in the source tree: run it from there')
    spec = importlib.util.spec_from_file_location(PLAIN.stem, PLAIN)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
