# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds what moves on its own in the images of one moving camera."""

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

_MODULE_OF = {
    'Camera': 'gdm_motion_seg.geometry.camera',
    'draw_overlay': 'gdm_motion_seg.viz.overlay',
    'FrameResult': 'gdm_motion_seg.pipeline',
    'GdmConfig': 'gdm_motion_seg.gdm.config',
    'GlobalDimensionMinimization': 'gdm_motion_seg.gdm.estimator',
    'InputError': 'gdm_motion_seg.errors',
    'minimize_global_dimension': 'gdm_motion_seg.gdm.minimize',
    'Motion': 'gdm_motion_seg.segmentation.result',
    'motion_mask': 'gdm_motion_seg.masks',
    'motion_pose': 'gdm_motion_seg.poses',
    'MotionKind': 'gdm_motion_seg.geometry.kind',
    'MotionMasks': 'gdm_motion_seg.masks',
    'MotionPipeline': 'gdm_motion_seg.pipeline',
    'MotionSegmentation': 'gdm_motion_seg.segmentation.result',
    'NodeConfig': 'gdm_motion_seg.ros.config',
    'PipelineConfig': 'gdm_motion_seg.pipeline',
    'segment_motions': 'gdm_motion_seg.segmentation.segment',
    'SegmentationConfig': 'gdm_motion_seg.segmentation.config',
    'time_to_contact': 'gdm_motion_seg.poses',
    'TrackingConfig': 'gdm_motion_seg.tracking.config',
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that ``import gdm_motion_seg`` is fast."""
    if name not in _MODULE_OF:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
