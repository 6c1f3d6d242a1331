# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The RAS data, if the user has a copy: the figures of the paper with outliers."""

from gdm_motion_seg_tools.bench.adelaide import measure, summarise
from gdm_motion_seg_tools.bench.benchmark import Benchmark
from gdm_motion_seg_tools.datasets.ras import read_ras

BENCHMARK = Benchmark('ras', read_ras, measure, summarise)
