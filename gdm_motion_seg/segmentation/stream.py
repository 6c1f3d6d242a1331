# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stream is not a heap of pairs: keep the last answer while it holds, search when not."""

from collections import deque
from dataclasses import replace
import math

import numpy as np

from gdm_motion_seg.geometry._linalg import median
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.segmentation.carry import carry_over
from gdm_motion_seg.segmentation.config import LEAST_EFFORT, SegmentationConfig
from gdm_motion_seg.segmentation.identity import MotionIdentities
from gdm_motion_seg.segmentation.leftover import with_leftovers
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.segmentation.segment import segment_correspondences
from gdm_motion_seg.segmentation.stream_config import StreamConfig

COURSE = 15
"""Answers that make up the recent course."""
RESIDUAL_FLOOR_PX = 0.05
"""Median residuals below this are all equally good."""
STEADY = 15
"""Answers with the same number of motions after which it is steady."""
LATER_SEARCH = 0.25
"""Effort of a search after the first, as a share of it: to follow its answer does the rest."""
CARRIED, FOLLOWED, SEARCHED = 0.0, 1.0, 2.0
"""How an answer was found, in its diagnostics under ``effort``."""


class StreamSegmenter:
    """
    Segments the pairs of a stream with as much effort as each needs.

    Most are *carried*: the last partition holds, and only its geometry is new. Every few pairs,
    and wherever the partition does not hold, the last answer is *followed*: the solver starts from
    it and looks for new motions. A pair is *searched* in full at the start, now and then, and
    after an answer that is bad beside its recent course: outliers, residual, global dimension, or
    another number of motions. That search falls to the next pair, so that no frame pays twice.
    """

    def __init__(self, config: SegmentationConfig | None = None,
                 stream: StreamConfig | None = None) -> None:
        """Make a segmenter without a past."""
        self._config = config or SegmentationConfig()
        self._stream = stream or StreamConfig()
        effort = max(self._config.effort * self._stream.search_effort, LEAST_EFFORT)
        self._first_search = replace(self._config, effort=effort)
        self._later_search = replace(self._config, effort=max(LATER_SEARCH * effort, LEAST_EFFORT))
        self.reset()

    def reset(self) -> None:
        """Forget the course of past answers."""
        self._course: deque[tuple[float, float, float]] = deque(maxlen=COURSE)
        self._n_motions = -1
        self._same_number = 0
        self._since_search = self._stream.rest
        self._since_solve = 0
        self._to_confirm = 0
        self._search_next = True

    def segment(self, correspondences: Correspondences, memory: MotionIdentities,
                rng: np.random.Generator, camera: Camera | None = None) -> MotionSegmentation:
        """Segment one pair, starting from what is remembered of its tracks."""
        answer = None
        if self._stream.warm_start and not self._search_is_due():
            answer, effort = self._carried(correspondences, memory, camera), CARRIED
            if answer is None:
                answer, effort = self._followed(correspondences, memory, rng, camera), FOLLOWED
        if answer is None:
            effort = SEARCHED
            config = self._later_search if self._course else self._first_search
            answer = segment_correspondences(correspondences, config, rng, camera=camera,
                                             expected_motions=max(self._n_motions, 0))
        answer = with_leftovers(correspondences, answer, self._config, camera)
        self._take_note(answer, effort)
        answer.diagnostics['effort'] = effort
        return answer

    def _carried(self, correspondences: Correspondences, memory: MotionIdentities,
                 camera: Camera | None) -> MotionSegmentation | None:
        """Return the last partition on this pair; None if it is bad or time to look again."""
        if self._to_confirm or self._since_solve + 1 >= self._stream.follow_every:
            return None
        last = memory.last_labels(correspondences.ids)
        if last is None:
            return None
        answer = carry_over(correspondences, last, self._config, camera)
        return None if answer is None or self._is_bad(answer) else answer

    def _followed(self, correspondences: Correspondences, memory: MotionIdentities,
                  rng: np.random.Generator, camera: Camera | None) -> MotionSegmentation | None:
        """Return what the solver makes of the last partition; None if there is none."""
        previous = memory.previous_labels(correspondences.ids)
        if previous is None:
            return None
        return segment_correspondences(correspondences, self._config, rng, previous, camera,
                                       steady=self._same_number >= STEADY)

    def _take_note(self, answer: MotionSegmentation, effort: float) -> None:
        """Keep the books on efforts and on how good answers are."""
        searched = effort == SEARCHED
        self._since_search = 0 if searched else self._since_search + 1
        self._since_solve = self._since_solve + 1 if effort == CARRIED else 0
        # A motion that was just found or lost is looked at again before it is believed.
        changed = self._n_motions not in (-1, answer.n_motions)
        self._to_confirm = (self._stream.confirm_frames if changed
                            else max(0, self._to_confirm - 1))
        self._search_next = self._is_bad(answer) or (self._search_next and not searched)
        self._course.append(_quality(answer))
        self._same_number = 0 if changed else self._same_number + 1
        self._n_motions = answer.n_motions

    def _search_is_due(self) -> bool:
        every = self._stream.full_search_every
        if every and self._since_search + 1 >= every:
            return True
        return self._search_next and self._since_search >= self._stream.rest

    def _is_bad(self, answer: MotionSegmentation) -> bool:
        """Compare an answer with the recent course; one that is missing altogether is bad, too."""
        if answer.n_motions == 0 or self._n_motions not in (-1, answer.n_motions):
            return True
        if not self._course:
            return False
        outliers, residual, dimension = _quality(answer)
        # The middle of the sorted values: np.median takes longer than all the rest here.
        usual_outliers, usual_residual, usual_dimension = (
            sorted(values)[len(values) // 2] for values in zip(*self._course))
        stream = self._stream
        return bool(outliers > usual_outliers + stream.outlier_rise
                    or residual > stream.residual_rise * max(usual_residual, RESIDUAL_FLOOR_PX)
                    or dimension > usual_dimension + stream.dimension_rise)


def _quality(answer: MotionSegmentation) -> tuple[float, float, float]:
    """Return outlier share, median residual of the inliers and global dimension; small is good."""
    kept = answer.residuals[answer.labels >= 0]
    residual = float(median(kept)) if len(kept) else 0.0
    dimension = answer.global_dimension
    return answer.outlier_share, residual, dimension if math.isfinite(dimension) else 0.0
