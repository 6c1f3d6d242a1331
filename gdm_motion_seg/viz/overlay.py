# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A frame with its motions drawn over it."""

import math

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.viz.colors import Bgr, motion_bgr, OUTLIER_BGR

Image = npt.NDArray[np.uint8]

REFERENCE_PIXELS = 640 * 480
"""Lines and letters have their plain size in images of so many pixels and grow with them."""
MIN_SCALE = 0.6
"""Smaller letters cannot be read."""
SHIFT = 3
"""Fractional bits of drawn coordinates: lines end where tracks do, not at the next pixel."""
WHITE: Bgr = (255, 255, 255)
BLACK: Bgr = (0, 0, 0)
FONT = cv2.FONT_HERSHEY_SIMPLEX


def draw_overlay(image: npt.NDArray[np.generic], result: FrameResult) -> Image:
    """
    Draw flow vectors in the motions' colours and a legend.

    Parameters
    ----------
    image :
        The newer frame of the result's pair; grey, BGR or BGRA of 8 or 16 bits.
    result :
        What the pipeline said about it.

    Returns
    -------
    array
        (height, width, 3) BGR; the frame itself is left as it is.

    """
    canvas = to_bgr(image)
    scale = max(MIN_SCALE, math.sqrt(canvas.shape[0] * canvas.shape[1] / REFERENCE_PIXELS))
    points, labels = result.correspondences, result.segmentation.labels
    _draw_outliers(canvas, points, np.flatnonzero(labels < 0))
    for motion in result.segmentation.motions:
        _draw_flow(canvas, points, motion.members, motion_bgr(motion.id), scale)
    _draw_legend(canvas, legend_lines(result), scale)
    return canvas


def legend_lines(result: FrameResult) -> list[tuple[Bgr, str]]:
    """Return the lines of the legend with their colours: one a motion, the outliers, the pair."""
    s = result.segmentation
    lines = [(motion_bgr(m.id), f'{m.id}  {m.count} points, {m.kind.value}') for m in s.motions]
    outliers = int(np.count_nonzero(s.labels < 0))
    if outliers:
        lines.append((OUTLIER_BGR, f'-  {outliers} outliers'))
    if result.has_pair:
        seconds = (result.stamp - result.previous_stamp) / 1e9
        took = 1e3 * sum(result.seconds.values())
        frames = f'{result.gap} frame' + ('s' if result.gap > 1 else '')
        lines.append((WHITE, f'gap {frames}, {seconds:.2f} s; took {took:.0f} ms'))
    if result.reason:
        lines.append((WHITE, result.reason))
    return lines


def to_bgr(image: npt.NDArray[np.generic]) -> Image:
    """Return a BGR copy with 8 bits; 16 bit images are stretched to their own range."""
    pixels = image.reshape(image.shape[:2]) if image.ndim == 3 and image.shape[2] == 1 else image
    if pixels.dtype != np.uint8:
        pixels = cv2.normalize(pixels, None, 0, 255, cv2.NORM_MINMAX, cv2.CV_8U)
    if pixels.ndim == 2:
        return cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR)
    if pixels.shape[2] == 4:
        return cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR)
    return np.array(pixels, np.uint8)


def _segments(points: Correspondences, index: IntArray) -> npt.NDArray[np.int32]:
    """Return (N, 2, 2) flow vectors in fixed-point pixels, cut off far outside of the image."""
    ends = np.stack([points.x1[index], points.x2[index]], axis=1)
    limit = 4.0 * max(points.image_size)
    return np.rint(np.clip(ends, -limit, limit) * (1 << SHIFT)).astype(np.int32)


def _draw_outliers(canvas: Image, points: Correspondences, index: IntArray) -> None:
    if len(index):
        segments = list(_segments(points, index))
        cv2.polylines(canvas, segments, False, OUTLIER_BGR, 1, cv2.LINE_AA, SHIFT)


def _draw_flow(canvas: Image, points: Correspondences, index: IntArray, colour: Bgr,
               scale: float) -> None:
    """Draw vectors with a dot at the newer end, on a dark rim that sets them off."""
    if not len(index):
        return
    segments = _segments(points, index)
    thick, radius = max(1, round(1.4 * scale)), 2.3 * scale
    for rim, ink in ((max(2, round(1.4 * scale)), BLACK), (0, colour)):
        cv2.polylines(canvas, list(segments), False, ink, thick + rim, cv2.LINE_AA, SHIFT)
        r = round((radius + rim / 2) * (1 << SHIFT))
        for x, y in segments[:, 1].tolist():
            cv2.circle(canvas, (x, y), r, ink, cv2.FILLED, cv2.LINE_AA, SHIFT)


def _draw_legend(canvas: Image, lines: list[tuple[Bgr, str]], scale: float) -> None:
    """Write the lines on a darkened box at the top left, each with a swatch of its colour."""
    if not lines:
        return
    width = canvas.shape[1]
    size, thick = 0.45 * scale, max(1, round(scale))
    pad, step = round(6 * scale), round(17 * scale)
    indent = round(18 * scale)
    longest = max(cv2.getTextSize(text, FONT, size, thick)[0][0] for _, text in lines)
    # A long reason is written smaller rather than beyond the edge of a small image.
    room = max(1, width - 3 * pad - indent)
    if longest > room:
        size *= room / longest
        longest = room
    box = canvas[:2 * pad + step * len(lines), :3 * pad + indent + longest]
    np.multiply(box, 0.35, out=box, casting='unsafe')
    for row, (colour, text) in enumerate(lines):
        middle = pad + step * row + step // 2
        if colour != WHITE:
            half = round(5 * scale)
            cv2.rectangle(canvas, (pad, middle - half), (pad + 2 * half, middle + half), colour,
                          cv2.FILLED)
        left = pad + indent if colour != WHITE else pad
        cv2.putText(canvas, text, (left, middle + round(5 * scale)), FONT, size, WHITE, thick,
                    cv2.LINE_AA)
