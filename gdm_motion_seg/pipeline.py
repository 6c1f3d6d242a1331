# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A frame in, a result out: the one path that the node, the command line and the tests use."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.settings import Config
from gdm_motion_seg.tracking.config import TrackingConfig


@dataclass(frozen=True)
class PipelineConfig(Config):
    """Settings of everything between an image and its motions."""

    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    segmentation: SegmentationConfig = field(default_factory=SegmentationConfig)


@dataclass(frozen=True)
class FrameResult:
    """What is known after a frame: the correspondences of its pair and their motions."""

    stamp: int
    """Time of the newer frame in nanoseconds."""
    previous_stamp: int
    """Time of the older frame of the pair in nanoseconds; equal to stamp where there is no pair."""
    gap: int
    """Frames between the two; 0 where there is no pair yet."""
    correspondences: Correspondences
    """The pair's points; ids are track ids, which live on from frame to frame."""
    segmentation: MotionSegmentation
    """Labels and motions of the correspondences; Motion.id is the identity over time."""
    reason: str = ''
    """Why there is no pair or no answer (for instance 'waiting for 3 more frames'); empty if all is well."""
    problem: bool = False
    """True where the reason is a fault of the input, not the way of things."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time that each stage took: convert, track, segment, identify."""

    @property
    def has_pair(self) -> bool:
        """Whether a pair of frames was segmented."""
        return self.gap > 0


class MotionPipeline:
    """
    Tracker, segmenter and identities behind one call.

    Same images, stamps and seed give the same results.
    """

    def __init__(self, config: PipelineConfig | None = None, seed: int = 0) -> None:
        """Make an empty pipeline."""
        self.config = config or PipelineConfig()
        self._seed = seed

    def reset(self) -> None:
        """Forget tracks and the last answer; identities that were given out are not given again."""
        raise NotImplementedError

    def process(self, image: npt.NDArray[np.generic], stamp: int) -> FrameResult:
        """Take one frame, grey or BGR, and its time in nanoseconds."""
        raise NotImplementedError
