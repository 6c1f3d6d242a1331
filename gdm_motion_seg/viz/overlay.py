# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A frame with its motions drawn over it."""

import math
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import Correspondences, IntArray
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.viz.colors import Bgr, is_second_round, motion_bgr, OUTLIER_BGR

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


class LegendLine(NamedTuple):
    """A line of the legend."""

    colour: Bgr | None
    """Colour of its swatch; None for no swatch."""
    text: str
    hollow: bool = False
    """Whether dots and swatch are rings: the colour was given before."""


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
    _draw_outliers(canvas, points, np.flatnonzero(labels < 0), scale)
    for motion in result.segmentation.motions:
        _draw_flow(canvas, points, motion.members, motion_bgr(motion.id),
                   is_second_round(motion.id), scale)
    _draw_legend(canvas, legend_lines(result), scale)
    return canvas


def legend_lines(result: FrameResult) -> list[LegendLine]:
    """Return the lines of the legend: one a motion, the outliers, the pair."""
    s = result.segmentation
    lines = [LegendLine(motion_bgr(m.id), f'{m.id}  {m.count} points, {m.kind.value}',
                        is_second_round(m.id)) for m in s.motions]
    outliers = int(np.count_nonzero(s.labels < 0))
    if outliers:
        lines.append(LegendLine(OUTLIER_BGR, f'-  {outliers} outliers'))
    if result.has_pair:
        seconds = (result.stamp - result.previous_stamp) / 1e9
        took = f'; took {1e3 * sum(result.seconds.values()):.0f} ms' if result.seconds else ''
        frames = f'{result.gap} frame' + ('s' if result.gap > 1 else '')
        lines.append(LegendLine(None, f'gap {frames}, {seconds:.2f} s{took}'))
    if result.reason:
        lines.append(LegendLine(None, result.reason))
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


def _draw_outliers(canvas: Image, points: Correspondences, index: IntArray,
                   scale: float) -> None:
    if len(index):
        segments, thick = list(_segments(points, index)), max(1, round(0.7 * scale))
        cv2.polylines(canvas, segments, False, OUTLIER_BGR, thick, cv2.LINE_AA, SHIFT)


def _draw_flow(canvas: Image, points: Correspondences, index: IntArray, colour: Bgr,
               hollow: bool, scale: float) -> None:
    """Draw vectors with a dot at the newer end, on a dark rim that sets them off."""
    if not len(index):
        return
    segments = _segments(points, index)
    thick, radius, rim = max(1, round(1.4 * scale)), 2.3 * scale, max(2, round(1.4 * scale))
    layers = [(thick + rim, radius + rim / 2, BLACK), (thick, radius, colour)]
    if hollow:
        layers = [(thick + rim, 1.5 * radius + rim / 2, BLACK), (thick, 1.5 * radius, colour),
                  (0, 0.8 * radius, BLACK)]
    for width, dot, ink in layers:
        if width:
            cv2.polylines(canvas, list(segments), False, ink, width, cv2.LINE_AA, SHIFT)
        r = round(dot * (1 << SHIFT))
        for x, y in segments[:, 1].tolist():
            cv2.circle(canvas, (x, y), r, ink, cv2.FILLED, cv2.LINE_AA, SHIFT)


def _draw_legend(canvas: Image, lines: list[LegendLine], scale: float) -> None:
    """Write the lines on a darkened box at the top left, each with a swatch of its colour."""
    if not lines:
        return
    width = canvas.shape[1]
    size, thick = 0.45 * scale, max(1, round(scale))
    pad, step = round(6 * scale), round(17 * scale)
    indent = round(18 * scale)
    longest = max(cv2.getTextSize(text, FONT, size, thick)[0][0] for _, text, _ in lines)
    # A long reason is written smaller rather than beyond the edge of a small image.
    room = max(1, width - 3 * pad - indent)
    if longest > room:
        size *= room / longest
        longest = room
    box = canvas[:2 * pad + step * len(lines), :3 * pad + indent + longest]
    np.multiply(box, 0.35, out=box, casting='unsafe')
    for row, (colour, text, hollow) in enumerate(lines):
        middle, left = pad + step * row + step // 2, pad
        if colour is not None:
            half = round(5 * scale)
            cv2.rectangle(canvas, (pad, middle - half), (pad + 2 * half, middle + half), colour,
                          cv2.FILLED)
            if hollow:
                cv2.circle(canvas, (pad + half, middle), half // 2, BLACK, cv2.FILLED,
                           cv2.LINE_AA)
            left += indent
        cv2.putText(canvas, text, (left, middle + round(5 * scale)), FONT, size, WHITE, thick,
                    cv2.LINE_AA)
