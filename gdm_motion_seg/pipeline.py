# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A frame in, a result out: the one path that the node, the command line and the tests use."""

from dataclasses import dataclass, field
import time

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.identity import MotionIdentities
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.segmentation.segment import segment_correspondences
from gdm_motion_seg.settings import Config
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.image import GreyConverter
from gdm_motion_seg.tracking.tracker import FeatureTracker


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
        """Make an empty pipeline; raises InputError if a setting names a file that cannot be read."""
        self.config = config or PipelineConfig()
        self._seed = seed
        self._converter = GreyConverter(self.config.tracking.max_image_pixels)
        self._tracker = FeatureTracker(self.config.tracking)
        self._identities = MotionIdentities()
        self._pairs = 0

    def reset(self) -> None:
        """Forget tracks and the last answer; identities that were given out are not given again."""
        self._converter.reset()
        self._tracker.reset()
        self._identities.reset()

    def reconfigure(self, config: PipelineConfig) -> None:
        """Take new settings; new ones of the tracking start afresh, and no id is given again."""
        if config.tracking != self.config.tracking:
            self._tracker.reconfigure(config.tracking)
            self._converter = GreyConverter(config.tracking.max_image_pixels)
        self.config = config

    def process(self, image: npt.NDArray[np.generic], stamp: int) -> FrameResult:
        """
        Take one frame, grey or BGR of 8 or 16 bits, and its time in nanoseconds.

        Nothing that a camera delivers raises: where there is no answer, the result says why.
        """
        clock = _Stopwatch()
        try:
            grey = self._converter.convert(image)
        except InputError as error:
            return _unanswered(image, stamp, f'ignored a frame: {error}')
        clock.lap('convert')
        tracked = self._tracker.track(grey, stamp)
        clock.lap('track')
        if tracked.restarted:
            self._identities.reset()
        if tracked.reason:
            nothing = MotionSegmentation.empty(len(tracked.correspondences), tracked.reason)
            return FrameResult(stamp, tracked.previous_stamp, 0, tracked.correspondences, nothing,
                               tracked.reason, tracked.problem, clock.seconds)
        segmentation = self._segment(tracked.correspondences)
        clock.lap('segment')
        segmentation = self._identities.identify(tracked.correspondences.ids, segmentation)
        clock.lap('identify')
        return FrameResult(stamp, tracked.previous_stamp, tracked.gap, tracked.correspondences,
                           segmentation, segmentation.reason, False, clock.seconds)

    def _segment(self, correspondences: Correspondences) -> MotionSegmentation:
        self._pairs += 1
        rng = np.random.default_rng((self._seed, self._pairs))
        return segment_correspondences(correspondences, self.config.segmentation, rng)


class _Stopwatch:
    """Time of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _unanswered(image: npt.NDArray[np.generic], stamp: int, reason: str) -> FrameResult:
    height, width = (np.shape(image) + (0, 0))[:2]
    nothing = Correspondences.from_arrays([], [], (max(1, width), max(1, height)))
    return FrameResult(stamp, stamp, 0, nothing, MotionSegmentation.empty(0, reason), reason, True)
