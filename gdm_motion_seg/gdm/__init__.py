# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Vectors in R^D to a partition: the paper's mathematics, for any D."""

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.dimension import (
    empirical_dimension, global_dimension, global_dimension_gradient, minimal_p)
from gdm_motion_seg.gdm.estimator import GlobalDimensionMinimization
from gdm_motion_seg.gdm.minimize import (
    GdmResult, minimize_global_dimension, reassign_points, warm_up)
from gdm_motion_seg.gdm.simplex import project_onto_simplex

__all__ = [
    'empirical_dimension', 'GdmConfig', 'GdmResult', 'global_dimension',
    'global_dimension_gradient', 'GlobalDimensionMinimization', 'minimal_p',
    'minimize_global_dimension', 'project_onto_simplex', 'reassign_points', 'warm_up',
]
