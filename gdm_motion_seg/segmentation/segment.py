# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two arrays of pixels in, rigid motions out."""

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.result import Motion, MotionKind, MotionSegmentation, OUTLIER


def segment_motions(x1: npt.ArrayLike, x2: npt.ArrayLike, image_size: tuple[int, int],
                    config: SegmentationConfig | None = None,
                    rng: np.random.Generator | int | None = None) -> MotionSegmentation:
    """Segment point correspondences into rigid motions."""
    return segment_correspondences(Correspondences.from_arrays(x1, x2, image_size), config, rng)


def segment_correspondences(correspondences: Correspondences,
                            config: SegmentationConfig | None = None,
                            rng: np.random.Generator | int | None = None,
                            previous_labels: npt.NDArray[np.int64] | None = None,
                            ) -> MotionSegmentation:
    """Segment validated correspondences; previous_labels (-2: unknown) is a start from last frame."""
    config = config or SegmentationConfig()
    c = correspondences
    labels = np.full(len(c), OUTLIER, np.int64)
    motions: list[Motion] = []
    residuals = np.full(len(c), np.inf)
    left = np.arange(len(c))
    while len(left) >= 12 and len(motions) < (config.n_motions or config.max_motions):
        f, mask = cv2.findFundamentalMat(c.x1[left], c.x2[left], cv2.FM_RANSAC, 1.0, 0.999)
        if f is None or mask is None or mask.sum() < 12:
            break
        inliers = left[mask.ravel() > 0]
        labels[inliers] = len(motions)
        residuals[inliers] = 0.5
        motions.append(Motion(len(motions), inliers, MotionKind.GENERAL, '', f[:3], np.full((3, 3), np.nan),
                              8.0, 0.5, 1.0))
        left = left[mask.ravel() == 0]
    return MotionSegmentation(labels, tuple(motions), residuals, np.ones(len(c)))
