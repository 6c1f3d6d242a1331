# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every method by name, in the order of the table."""

from gdm_motion_seg_tools.bench.methods import (
    gdm, hosc, lrr, magsac, mapa, pose_lib, position, progressive_x, ras, ref, scc, slbf, ssc)
from gdm_motion_seg_tools.bench.methods.base import Method

METHODS: dict[str, Method] = {method.name: method for method in (
    *gdm.METHODS,
    *magsac.METHODS,
    *pose_lib.METHODS,
    *progressive_x.METHODS,
    *scc.METHODS,
    *slbf.METHODS,
    *mapa.METHODS,
    *hosc.METHODS,
    *ras.METHODS,
    *ssc.METHODS,
    *lrr.METHODS,
    *position.METHODS,
    *ref.METHODS,
)}
