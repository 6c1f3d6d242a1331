# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pipeline from an image to its motions, used by the node, the commands and the tests."""

from dataclasses import dataclass, field, replace
from importlib import import_module
import time
from types import ModuleType
from typing import Any, cast, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.heap import keep_frame_buffers
from gdm_motion_seg.segmentation.config import LEAST_EFFORT, SegmentationConfig
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation
from gdm_motion_seg.segmentation.stream import StreamSegmenter
from gdm_motion_seg.settings import Config, setting
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.image import check_array, GreyConverter
from gdm_motion_seg.tracking.tracker import FeatureTracker
from gdm_motion_seg.tracking.window import TrackedFrame, Window

if TYPE_CHECKING:
    import pandas

MIN_TRACKS = 8
"""With fewer points no motion can be estimated (the eight-point algorithm)."""


@dataclass(frozen=True)
class PipelineConfig(Config):
    """Settings of everything between an image and its motions."""

    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    segmentation: SegmentationConfig = field(default_factory=SegmentationConfig)
    threads: int = setting(
        1, 'Threads that OpenCV and BLAS may each use in this process; 0 keeps their defaults.',
        low=0, high=256, runtime=False)


@dataclass(frozen=True, repr=False)
class FrameResult:
    """The result of a frame: the correspondences of its pair and their motions."""

    stamp: int
    """Time of the newer frame in nanoseconds."""
    previous_stamp: int
    """Time of the older frame of the pair; equal to stamp if there is no pair."""
    gap: int
    """Number of frames from the older to the newer frame; 0 if there is no pair yet."""
    correspondences: Correspondences
    """The points of the pair in pixels of the images; ids are track ids."""
    segmentation: MotionSegmentation
    """Labels and motions of the correspondences; Motion.id is constant over time."""
    reason: str = ''
    """Why there is no pair or no motion ('waiting for 3 more frames'); empty otherwise."""
    problem: bool = False
    """True if the input is faulty, False while the pipeline is still filling."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time that each stage took: convert, track, segment."""
    n_tracks: int = 0
    """Number of all tracks, including those that are too short for the pair."""
    undistorted: Correspondences | None = None
    """The same points without lens distortion, in which F is given; None without a calibration."""

    @property
    def labels(self) -> IntArray:
        """Return the id of each track's motion: 0 the world, > 0 a body, -1 a wrong match."""
        return self.segmentation.labels

    @property
    def moving(self) -> FloatArray:
        """Return the probability that each track moves relative to the world."""
        return self.segmentation.moving

    @property
    def motions(self) -> tuple[Motion, ...]:
        """Return the motions ordered by id."""
        return self.segmentation.motions

    @property
    def world(self) -> Motion | None:
        """Return the motion of the static world; None if there is none."""
        return self.segmentation.world

    @property
    def has_pair(self) -> bool:
        """Whether a pair of frames was segmented."""
        return self.gap > 0

    def __repr__(self) -> str:
        """Return one line that says what moves."""
        return str(notebook().as_text(self))

    def _repr_html_(self) -> str:
        """Return the motions as an HTML table."""
        return str(notebook().as_html(self))

    def to_dataframe(self) -> 'pandas.DataFrame':
        """Return a pandas.DataFrame with one row per track; needs pandas."""
        return cast('pandas.DataFrame', notebook().to_dataframe(self))

    def plot(self, image: Any = None, axes: Any = None) -> Any:
        """
        Plot the tracks and their flow, bodies in colours; returns the axes; needs matplotlib.

        ``image`` is the newer frame (grey or BGR) as background, ``axes`` are new ones by default.
        """
        return notebook().plot(self, image, axes)


def notebook() -> ModuleType:
    """Return the module with the displays, which is imported on use."""
    return import_module('gdm_motion_seg.notebook')


class MotionPipeline:
    """
    Tracker and segmentation behind one call.

    The same images, stamps and seed give the same results. The call consists of two steps,
    ``track`` and ``segment``, which may run in two threads, one frame apart; not every tracked
    frame has to be segmented. Call ``reset`` and ``reconfigure`` while neither runs.
    """

    def __init__(self, config: PipelineConfig | None = None, seed: int = 0) -> None:
        """Make a pipeline without tracks; InputError if a file in the settings cannot be read."""
        self.config = config or PipelineConfig()
        limit_threads(self.config.threads)
        keep_frame_buffers()
        self.camera: Camera | None = None
        """Calibration of the camera, if known; tracks are then undistorted."""
        self.share = 1.0
        """Share of the tracks and of the effort; below 1 on a machine that is too slow."""
        self._epoch = 0
        self._converter = GreyConverter(self.config.tracking.max_image_pixels)
        self._tracker = FeatureTracker(self.config.tracking)
        self._segmenter = StreamSegmenter(self.config.segmentation, seed)

    def reset(self) -> None:
        """Forget tracks and motions; ids are not used again."""
        self._converter.reset()
        self._tracker.reset()
        self._segmenter.reset()

    def reconfigure(self, config: PipelineConfig) -> None:
        """Use new settings; motions keep their ids unless settings of the tracking change."""
        if config.tracking != self.config.tracking:
            self._tracker.reconfigure(config.tracking)
            self._converter = GreyConverter(config.tracking.max_image_pixels)
            self._segmenter.reset()
        self.config = config

    def process(self, image: npt.NDArray[np.generic], stamp: int) -> FrameResult:
        """
        Process one frame, grey or BGR of 8 or 16 bits, with its time in nanoseconds.

        Images of a camera raise no exception: if there are no motions, ``reason`` says why. An
        array that is not an image (floats, two channels) raises InputError.
        """
        return self.segment(self.track(image, stamp))

    def track(self, image: npt.NDArray[np.generic], stamp: int) -> TrackedFrame:
        """Track the features into a new frame; the first step of ``process``."""
        check_array(image)
        start = time.perf_counter()
        try:
            grey = self._converter.convert(image)
        except InputError as error:
            return self._tracker.without_pair(stamp, f'ignored a frame: {error}', problem=True)
        converted = time.perf_counter()
        self._tracker.share = self.share
        tracked = self._tracker.track(grey, stamp)
        return replace(tracked, seconds={'convert': converted - start,
                                         'track': time.perf_counter() - converted})

    def segment(self, tracked: TrackedFrame) -> FrameResult:
        """Find the motions of a tracked frame; the second step of ``process``."""
        start = time.perf_counter()
        if tracked.epoch != self._epoch:
            self._epoch = tracked.epoch
            self._segmenter.reset()
        camera = self.camera
        if camera and camera.image_size != tracked.window.image_size:
            camera = None
        seen, window = _without_distortion(tracked.window, camera)
        reason = tracked.reason if not tracked.gap else _too_few(tracked, len(window))
        if reason:
            answer = MotionSegmentation.empty(len(seen), reason)
        else:
            config = self.config.segmentation
            if self.share < 1.0:
                config = replace(config, effort=max(LEAST_EFFORT, self.share * config.effort))
            self._segmenter.config = config
            answer = self._segmenter.segment(window, tracked.stamp,
                                             camera or Camera.guess(window.image_size))
        seconds = {**tracked.seconds, 'segment': time.perf_counter() - start}
        return FrameResult(
            tracked.stamp, tracked.previous_stamp, tracked.gap, seen.pair, answer,
            reason=answer.reason, problem=tracked.problem or bool(tracked.gap and reason),
            seconds=seconds, n_tracks=tracked.n_tracks,
            undistorted=None if window is seen else window.pair)


def _without_distortion(window: Window, camera: Camera | None) -> tuple[Window, Window]:
    """Return the tracks that can be undistorted, with and without distortion."""
    if camera is None or not camera.is_distorted:
        return window, window
    x = camera.undistort(window.x)
    before = np.stack([camera.undistort(points) for points in window.before])
    known = np.flatnonzero(np.isfinite(np.hstack([x, before[0]])).all(axis=1))
    return window.take(known), replace(window, x=x, before=before).take(known)


def _too_few(tracked: TrackedFrame, count: int) -> str:
    """Return why a pair cannot be segmented; empty if it can."""
    if count >= MIN_TRACKS:
        return ''
    if tracked.n_tracks < MIN_TRACKS:
        return f'the image has too little texture: {tracked.n_tracks} tracks'
    return f'only {count} tracks reach over the gap, {MIN_TRACKS} are needed'
