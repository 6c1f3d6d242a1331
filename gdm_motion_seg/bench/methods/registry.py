# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every method by name."""

from gdm_motion_seg.bench.methods import gdm
from gdm_motion_seg.bench.methods.base import Method

METHODS: dict[str, Method] = {method.name: method for method in (
    *gdm.METHODS,
)}
