# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stream is not a heap of pairs: start from the last answer, search anew when it is bad."""

from collections import deque

import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.result import MotionSegmentation
from gdm_motion_seg.segmentation.segment import segment_correspondences
from gdm_motion_seg.segmentation.stream_config import StreamConfig

COURSE = 15
"""Answers that make up the recent course."""
RESIDUAL_FLOOR_PX = 0.05
"""Median residuals below this are all equally good."""


class StreamSegmenter:
    """
    Segments the pairs of a stream, most of them from the last partition.

    A bad answer (outliers, residual or global dimension above their recent course, or another
    number of motions) makes the next pair be searched in full: one search a pair at most, so that
    no frame pays twice.
    """

    def __init__(self, config: SegmentationConfig | None = None,
                 stream: StreamConfig | None = None) -> None:
        """Make a segmenter without a past."""
        self._config = config or SegmentationConfig()
        self._stream = stream or StreamConfig()
        self.reset()

    def reset(self) -> None:
        """Forget the course of past answers."""
        self._course: deque[tuple[float, float, float]] = deque(maxlen=COURSE)
        self._n_motions = -1
        self._pairs_since_search = self._stream.rest
        self._search_next = True

    def segment(self, correspondences: Correspondences, previous: IntArray | None,
                rng: np.random.Generator, camera: Camera | None = None) -> MotionSegmentation:
        """Segment one pair; previous is the last partition, as MotionIdentities gives it."""
        search = not self._stream.warm_start or previous is None or self._search_is_due()
        answer = segment_correspondences(correspondences, self._config, rng,
                                         None if search else previous, camera)
        self._pairs_since_search = 0 if search else self._pairs_since_search + 1
        self._search_next = self._is_bad(answer) or (self._search_next and not search)
        self._course.append(_quality(answer))
        self._n_motions = answer.n_motions
        answer.diagnostics['full_search'] = float(search)
        return answer

    def _search_is_due(self) -> bool:
        every = self._stream.full_search_every
        if every and self._pairs_since_search + 1 >= every:
            return True
        return self._search_next and self._pairs_since_search >= self._stream.rest

    def _is_bad(self, answer: MotionSegmentation) -> bool:
        """Compare an answer with the recent course; one that is missing altogether is bad, too."""
        if answer.n_motions == 0 or self._n_motions not in (-1, answer.n_motions):
            return True
        if not self._course:
            return False
        outliers, residual, dimension = _quality(answer)
        usual_outliers, usual_residual, usual_dimension = np.median(self._course, axis=0)
        stream = self._stream
        return bool(outliers > usual_outliers + stream.outlier_rise
                    or residual > stream.residual_rise * max(usual_residual, RESIDUAL_FLOOR_PX)
                    or dimension > usual_dimension + stream.dimension_rise)


def _quality(answer: MotionSegmentation) -> tuple[float, float, float]:
    """Return outlier share, median residual of the inliers and global dimension; small is good."""
    kept = answer.residuals[answer.labels >= 0]
    residual = float(np.median(kept)) if len(kept) else 0.0
    return answer.outlier_share, residual, float(np.nan_to_num(answer.global_dimension))
