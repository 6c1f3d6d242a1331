# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A frame with its motions drawn over it."""

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.viz.colors import motion_bgr

Image = npt.NDArray[np.uint8]


def draw_overlay(image: npt.NDArray[np.generic], result: FrameResult) -> Image:
    """Return a BGR copy of the frame with flow vectors in the motions' colours and a legend."""
    canvas = _bgr(image)
    c, s = result.correspondences, result.segmentation
    scale = max(canvas.shape[:2]) / 640
    for label in range(-1, s.n_motions):
        colour = motion_bgr(s.motions[label].id if label >= 0 else -1)
        for a, b in zip(c.x1[s.labels == label], c.x2[s.labels == label]):
            start, end = (tuple(int(v) for v in np.rint(p)) for p in (a, b))
            cv2.line(canvas, start, end, colour, max(1, round(scale)) if label >= 0 else 1,
                     cv2.LINE_AA)
            if label >= 0:
                cv2.circle(canvas, end, max(2, round(2 * scale)), colour, -1, cv2.LINE_AA)
    lines = [(motion_bgr(m.id), f'{m.id}: {m.count} {m.kind.value}') for m in s.motions]
    lines.append(((255, 255, 255), result.reason or f'gap {result.gap}'))
    for row, (colour, text) in enumerate(lines, 1):
        where = (round(8 * scale), round(18 * scale * row))
        cv2.putText(canvas, text, where, cv2.FONT_HERSHEY_SIMPLEX, 0.5 * scale, (0, 0, 0),
                    max(2, round(3 * scale)), cv2.LINE_AA)
        cv2.putText(canvas, text, where, cv2.FONT_HERSHEY_SIMPLEX, 0.5 * scale, colour,
                    max(1, round(scale)), cv2.LINE_AA)
    return canvas


def _bgr(image: npt.NDArray[np.generic]) -> Image:
    if image.dtype == np.uint16:
        image = cv2.normalize(image, None, 0, 255, cv2.NORM_MINMAX, cv2.CV_8U)
    if image.ndim == 2 or image.shape[2] == 1:
        return cv2.cvtColor(np.asarray(image, np.uint8), cv2.COLOR_GRAY2BGR)
    if image.shape[2] == 4:
        return cv2.cvtColor(np.asarray(image, np.uint8), cv2.COLOR_BGRA2BGR)
    return np.array(image, np.uint8)
