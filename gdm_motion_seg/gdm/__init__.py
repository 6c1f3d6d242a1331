# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Global dimension minimization: partitions vectors in R^D into subspaces, for any D."""

from importlib import import_module
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from gdm_motion_seg.gdm.config import GdmConfig
    from gdm_motion_seg.gdm.dimension import (
        empirical_dimension, global_dimension, global_dimension_gradient, minimal_p)
    from gdm_motion_seg.gdm.estimator import GlobalDimensionMinimization
    from gdm_motion_seg.gdm.minimize import (
        GdmResult, minimize_global_dimension, reassign_points, warm_up)
    from gdm_motion_seg.gdm.simplex import project_onto_simplex

_NAMES = {
    'config': ('GdmConfig',),
    'dimension': ('empirical_dimension', 'global_dimension', 'global_dimension_gradient',
                  'minimal_p'),
    'estimator': ('GlobalDimensionMinimization',),
    'minimize': ('GdmResult', 'minimize_global_dimension', 'reassign_points', 'warm_up'),
    'simplex': ('project_onto_simplex',),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = (
    'empirical_dimension', 'GdmConfig', 'GdmResult', 'global_dimension',
    'global_dimension_gradient', 'GlobalDimensionMinimization', 'minimal_p',
    'minimize_global_dimension', 'project_onto_simplex', 'reassign_points', 'warm_up')


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: the default method needs little of this package."""
    if name not in _MODULE_OF:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULE_OF[name]}'), name)
