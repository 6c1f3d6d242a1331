# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Global dimension minimization: partitions vectors in R^D into subspaces, for any D."""

from typing import TYPE_CHECKING

from gdm_motion_seg import on_first_use

if TYPE_CHECKING:
    from gdm_motion_seg.gdm.config import GdmConfig
    from gdm_motion_seg.gdm.dimension import (
        empirical_dimension, global_dimension, global_dimension_gradient, minimal_p)
    from gdm_motion_seg.gdm.estimator import GlobalDimensionMinimization
    from gdm_motion_seg.gdm.minimize import (
        GdmResult, minimize_global_dimension, reassign_points, warm_up)
    from gdm_motion_seg.gdm.simplex import project_onto_simplex

__all__ = (
    'empirical_dimension', 'GdmConfig', 'GdmResult', 'global_dimension',
    'global_dimension_gradient', 'GlobalDimensionMinimization', 'minimal_p',
    'minimize_global_dimension', 'project_onto_simplex', 'reassign_points', 'warm_up')

# The default method needs little of this package.
__getattr__ = on_first_use(__name__, {
    'config': ('GdmConfig',),
    'dimension': ('empirical_dimension', 'global_dimension', 'global_dimension_gradient',
                  'minimal_p'),
    'estimator': ('GlobalDimensionMinimization',),
    'minimize': ('GdmResult', 'minimize_global_dimension', 'reassign_points', 'warm_up'),
    'simplex': ('project_onto_simplex',),
})
