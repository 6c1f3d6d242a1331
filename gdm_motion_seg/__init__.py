# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds what moves on its own in the images of one moving camera."""

from collections.abc import Callable, Mapping
from importlib import import_module
import os
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from gdm_motion_seg.errors import InputError
    from gdm_motion_seg.gdm.config import GdmConfig
    from gdm_motion_seg.gdm.estimator import GlobalDimensionMinimization
    from gdm_motion_seg.gdm.minimize import minimize_global_dimension
    from gdm_motion_seg.geometry.camera import Camera
    from gdm_motion_seg.geometry.kind import MotionKind
    from gdm_motion_seg.masks import motion_mask, MotionMasks
    from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
    from gdm_motion_seg.poses import motion_pose, time_to_contact
    from gdm_motion_seg.ros.config import NodeConfig
    from gdm_motion_seg.segmentation.config import SegmentationConfig
    from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation
    from gdm_motion_seg.segmentation.segment import segment_motions
    from gdm_motion_seg.tracking.config import TrackingConfig
    from gdm_motion_seg.viz.overlay import draw_overlay

# OpenCV reads its limits when it is loaded, which the modules of this package do.
os.environ.setdefault('OPENCV_IO_MAX_IMAGE_PIXELS', '100000000')

__version__ = '0.1.0'

__all__ = ('Camera', 'draw_overlay', 'FrameResult', 'GdmConfig', 'GlobalDimensionMinimization',
           'InputError', 'minimize_global_dimension', 'Motion', 'motion_mask', 'motion_pose',
           'MotionKind', 'MotionMasks', 'MotionPipeline', 'MotionSegmentation', 'NodeConfig',
           'PipelineConfig', 'segment_motions', 'SegmentationConfig', 'time_to_contact',
           'TrackingConfig')


def on_first_use(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports its public names on first use."""
    module_of = {name: module for module, names in modules.items() for name in names}

    def imported(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        return getattr(import_module(f'{package}.{module_of[name]}'), name)
    return imported


__getattr__ = on_first_use(__name__, {
    'errors': ('InputError',),
    'gdm.config': ('GdmConfig',),
    'gdm.estimator': ('GlobalDimensionMinimization',),
    'gdm.minimize': ('minimize_global_dimension',),
    'geometry.camera': ('Camera',),
    'geometry.kind': ('MotionKind',),
    'masks': ('motion_mask', 'MotionMasks'),
    'pipeline': ('FrameResult', 'MotionPipeline', 'PipelineConfig'),
    'poses': ('motion_pose', 'time_to_contact'),
    'ros.config': ('NodeConfig',),
    'segmentation.config': ('SegmentationConfig',),
    'segmentation.result': ('Motion', 'MotionSegmentation'),
    'segmentation.segment': ('segment_motions',),
    'tracking.config': ('TrackingConfig',),
    'viz.overlay': ('draw_overlay',),
})


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
