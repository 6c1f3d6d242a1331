# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions in image streams by outlier-aware global dimension minimization."""

from importlib import import_module
import os
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from gdm_motion_seg.gdm.estimator import GlobalDimensionMinimization
    from gdm_motion_seg.masks import motion_mask, MotionMasks
    from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig
    from gdm_motion_seg.segmentation.result import MotionSegmentation
    from gdm_motion_seg.segmentation.segment import segment_motions
    from gdm_motion_seg.viz.overlay import draw_overlay

# OpenCV reads its limits when it is loaded, which the modules of this package do.
os.environ.setdefault('OPENCV_IO_MAX_IMAGE_PIXELS', '100000000')

__version__ = '0.1.0'

__all__ = ('draw_overlay', 'FrameResult', 'GlobalDimensionMinimization', 'motion_mask',
           'MotionMasks', 'MotionPipeline', 'MotionSegmentation', 'PipelineConfig',
           'segment_motions')

_HOME = {
    'draw_overlay': 'gdm_motion_seg.viz.overlay',
    'FrameResult': 'gdm_motion_seg.pipeline',
    'GlobalDimensionMinimization': 'gdm_motion_seg.gdm.estimator',
    'motion_mask': 'gdm_motion_seg.masks',
    'MotionMasks': 'gdm_motion_seg.masks',
    'MotionPipeline': 'gdm_motion_seg.pipeline',
    'MotionSegmentation': 'gdm_motion_seg.segmentation.result',
    'PipelineConfig': 'gdm_motion_seg.pipeline',
    'segment_motions': 'gdm_motion_seg.segmentation.segment',
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: ``import gdm_motion_seg`` stays fast."""
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names, those not yet imported too."""
    return sorted({*globals(), *__all__})
