# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every method by name, in the order of the table."""

from gdm_motion_seg_tools.bench.methods import gdm, lrr, magsac, pose_lib, ref, scc, ssc
from gdm_motion_seg_tools.bench.methods.base import Method

METHODS: dict[str, Method] = {method.name: method for method in (
    *gdm.METHODS,
    *magsac.METHODS,
    *pose_lib.METHODS,
    *scc.METHODS,
    *ssc.METHODS,
    *lrr.METHODS,
    *ref.METHODS,
)}
