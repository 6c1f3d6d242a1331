# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A frame in, a result out: the one path that the node, the command line and the tests use."""

from dataclasses import dataclass, field, replace
import time

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.identity import MotionIdentities
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation, OUTLIER
from gdm_motion_seg.segmentation.stream import StreamSegmenter
from gdm_motion_seg.segmentation.stream_config import StreamConfig
from gdm_motion_seg.settings import Config, setting
from gdm_motion_seg.threads import limit_threads
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg.tracking.image import GreyConverter
from gdm_motion_seg.tracking.tracker import FeatureTracker, TrackedFrame

MIN_TRACKS = 8
"""With fewer points no motion can be told (the eight-point algorithm)."""


@dataclass(frozen=True)
class PipelineConfig(Config):
    """Settings of everything between an image and its motions."""

    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    segmentation: SegmentationConfig = field(default_factory=SegmentationConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)
    threads: int = setting(
        1, 'Threads that OpenCV and BLAS may each use in this process; 0 leaves it to them.',
        low=0, high=256, runtime=False)


@dataclass(frozen=True)
class FrameResult:
    """What is known after a frame: the correspondences of its pair and their motions."""

    stamp: int
    """Time of the newer frame in nanoseconds."""
    previous_stamp: int
    """Time of the older frame of the pair; equal to stamp where there is no pair."""
    gap: int
    """Frames between the two; 0 where there is no pair yet."""
    correspondences: Correspondences
    """The pair's points as the image shows them; ids are track ids, which live on."""
    segmentation: MotionSegmentation
    """Labels and motions of the correspondences; Motion.id is the identity over time."""
    reason: str = ''
    """Why there is no pair or answer ('waiting for 3 more frames'); empty if all is well."""
    problem: bool = False
    """True where the reason is a fault of the input, not the way of things."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time that each stage took: convert, track, segment, identify."""
    n_tracks: int = 0
    """Number of tracks that are followed, those too young for the pair too."""
    undistorted: Correspondences | None = None
    """The same points without lens distortion, which F refers to; None if no lens is known."""

    @property
    def labels(self) -> IntArray:
        """Return the id of each track's motion: 0 the world, > 0 a body, -1 a wrong match."""
        return self.segmentation.labels

    @property
    def moving(self) -> FloatArray:
        """Return how sure it is that each track moves against the world, in [0, 1]."""
        return self.segmentation.moving

    @property
    def motions(self) -> tuple[Motion, ...]:
        """Return the motions in the order of their ids."""
        return self.segmentation.motions

    @property
    def world(self) -> Motion | None:
        """Return the motion of the static world; None where there is none."""
        return self.segmentation.world

    @property
    def has_pair(self) -> bool:
        """Whether a pair of frames was segmented."""
        return self.gap > 0


class MotionPipeline:
    """
    Tracker, segmenter and identities behind one call.

    Same images, stamps and seed give the same results. The call has two halves, ``track`` and
    ``segment``, which may run in two threads, one frame apart; of what the tracker hands over,
    frames may be left out. Settings change, and everything is forgotten, while neither runs.
    """

    def __init__(self, config: PipelineConfig | None = None, seed: int = 0) -> None:
        """
        Make an empty pipeline.

        Parameters
        ----------
        config :
            Settings; InputError if a file in them cannot be read.
        seed :
            Of every random step.

        """
        self.config = config or PipelineConfig()
        limit_threads(self.config.threads)
        self.camera: Camera | None = None
        """Set it where the camera is known: tracks are then freed from lens distortion."""
        self._seed = seed
        self._pairs = 0
        self._epoch = 0
        self._converter = GreyConverter(self.config.tracking.max_image_pixels)
        self._tracker = FeatureTracker(self.config.tracking)
        self._segmenter = StreamSegmenter(self.config.segmentation, self.config.stream)
        self._identities = MotionIdentities(self.config.stream)

    def reset(self) -> None:
        """Forget tracks and the last answer; identities given out are not given again."""
        self._converter.reset()
        self._tracker.reset()
        self._forget_motions()

    def reconfigure(self, config: PipelineConfig) -> None:
        """Take new settings; motions keep their identity unless the tracking changes."""
        if config.tracking != self.config.tracking:
            self._tracker.reconfigure(config.tracking)
            self._converter = GreyConverter(config.tracking.max_image_pixels)
            self._identities.reset()
        self._segmenter = StreamSegmenter(config.segmentation, config.stream)
        self._identities.config = config.stream
        self.config = config

    def process(self, image: npt.NDArray[np.generic], stamp: int) -> FrameResult:
        """
        Take one frame, grey or BGR of 8 or 16 bits, and its time in nanoseconds.

        Nothing that a camera delivers raises: where there is no answer, the result says why.
        """
        return self.segment(self.track(image, stamp))

    def track(self, image: npt.NDArray[np.generic], stamp: int) -> TrackedFrame:
        """Follow the features into a new frame: the first half of ``process``."""
        clock = _Stopwatch({})
        try:
            grey = self._converter.convert(image)
        except InputError as error:
            return self._refused(image, stamp, f'ignored a frame: {error}')
        clock.lap('convert')
        tracked = self._tracker.track(grey, stamp)
        clock.lap('track')
        return replace(tracked, seconds=clock.seconds)

    def segment(self, tracked: TrackedFrame) -> FrameResult:
        """Find the motions of a frame's pair: the second half of ``process``."""
        clock = _Stopwatch(dict(tracked.seconds))
        if tracked.epoch != self._epoch:
            self._epoch = tracked.epoch
            self._forget_motions()
        if not tracked.gap:
            return _frame_result(tracked, _nothing(tracked, tracked.reason), clock)
        camera = self._camera_of(tracked)
        tracked, undistorted = self._without_distortion(tracked, camera)
        points = tracked.correspondences if undistorted is None else undistorted
        if len(points) < MIN_TRACKS:
            nothing = _nothing(tracked, _too_few(tracked))
            return _frame_result(tracked, nothing, clock, problem=True)
        answer = self._segmenter.segment(points, self._identities, self._fresh_rng(), camera)
        clock.lap('segment')
        answer = _with_world(points, self._identities.identify(points, answer))
        clock.lap('identify')
        return _frame_result(tracked, answer, clock, undistorted=undistorted)

    def _forget_motions(self) -> None:
        self._segmenter.reset()
        self._identities.reset()

    def _refused(self, image: npt.NDArray[np.generic], stamp: int, reason: str) -> TrackedFrame:
        """Return a frame without a pair; the tracks live on without it."""
        height, width = (*np.shape(image), 0, 0)[:2]
        nothing = Correspondences.from_arrays([], [], (max(1, width), max(1, height)))
        return TrackedFrame(stamp, stamp, 0, nothing, reason, problem=True,
                            epoch=self._tracker.epoch)

    def _fresh_rng(self) -> np.random.Generator:
        self._pairs += 1
        return np.random.default_rng((self._seed, self._pairs))

    def _camera_of(self, tracked: TrackedFrame) -> Camera | None:
        """Return the camera if it belongs to the images."""
        if self.camera and self.camera.image_size == tracked.correspondences.image_size:
            return self.camera
        return None

    def _without_distortion(self, tracked: TrackedFrame, camera: Camera | None
                            ) -> tuple[TrackedFrame, Correspondences | None]:
        """Return the points freed from distortion, and the frame without those that cannot be."""
        if camera is None or not camera.is_distorted or not self.config.tracking.undistort:
            return tracked, None
        seen = tracked.correspondences
        x1, x2 = camera.undistort(seen.x1), camera.undistort(seen.x2)
        known = np.isfinite(np.hstack([x1, x2])).all(axis=1)
        undistorted = Correspondences.from_arrays(x1[known], x2[known], seen.image_size,
                                                  seen.ids[known])
        return replace(tracked, correspondences=seen.take(np.flatnonzero(known))), undistorted


class _Stopwatch:
    """Time of each stage."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _with_world(c: Correspondences, answer: MotionSegmentation) -> MotionSegmentation:
    """Call the motion with the largest hull the world, and let labels be ids."""
    hulls = [float(cv2.contourArea(cv2.convexHull(c.x2[m.members].astype(np.float32))))
             if m.count > 2 else 0.0 for m in answer.motions]
    world = int(np.argmax(hulls)) if hulls else -1
    ids = [0 if k == world else m.id + 1 for k, m in enumerate(answer.motions)]
    labels = np.array([*ids, OUTLIER])[answer.labels]
    moving = (labels > 0).astype(np.float64)
    motions = tuple(replace(m, id=i, moving=float(i > 0), box=(
        *c.x2[m.members].min(axis=0).tolist(), *c.x2[m.members].max(axis=0).tolist())
        if m.count else (0.0, 0.0, 0.0, 0.0)) for i, m in zip(ids, answer.motions))
    return replace(answer, labels=labels, moving=moving,
                   motions=tuple(sorted(motions, key=lambda m: m.id)))


def _nothing(tracked: TrackedFrame, reason: str) -> MotionSegmentation:
    return MotionSegmentation.empty(len(tracked.correspondences), reason)


def _too_few(tracked: TrackedFrame) -> str:
    if tracked.n_tracks < MIN_TRACKS:
        return f'the image has no texture to follow: {tracked.n_tracks} tracks'
    count = len(tracked.correspondences)
    return f'only {count} tracks reach over the gap, {MIN_TRACKS} are needed'


def _frame_result(tracked: TrackedFrame, answer: MotionSegmentation, clock: _Stopwatch,
                  problem: bool = False,
                  undistorted: Correspondences | None = None) -> FrameResult:
    return FrameResult(
        tracked.stamp, tracked.previous_stamp, tracked.gap, tracked.correspondences, answer,
        reason=answer.reason, problem=problem or tracked.problem, seconds=clock.seconds,
        n_tracks=tracked.n_tracks, undistorted=undistorted)
