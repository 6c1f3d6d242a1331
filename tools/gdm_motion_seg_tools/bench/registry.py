# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every benchmark on a data set, by name."""

from gdm_motion_seg_tools.bench import adelaide, hopkins155, kt3dmoseg, ras_data, synthetic
from gdm_motion_seg_tools.bench.benchmark import Benchmark

BENCHMARKS: dict[str, Benchmark] = {module.BENCHMARK.name: module.BENCHMARK for module in (
    hopkins155,
    adelaide,
    kt3dmoseg,
    ras_data,
    synthetic,
)}
