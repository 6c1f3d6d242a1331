# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A frame with its result drawn over it.

Each body has a tinted region with an outline, a box, and a tag with its id and its probability of
moving. The static world is drawn as thin grey dots; wrong matches are hardly visible. The same
frame and result always give the same picture. Kernels draw dots and regions: OpenCV draws one dot
per call, and thick smooth outlines slowly.
"""

from dataclasses import dataclass
from functools import lru_cache
import math
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion, OUTLIER, WORLD
from gdm_motion_seg.tracking.image import check_array
from gdm_motion_seg.viz.colors import Bgr, is_second_round, motion_bgr

Image = npt.NDArray[np.uint8]
Instances = npt.NDArray[np.int32]

REFERENCE_PIXELS = 640 * 480
"""Size of an image with scale 1; lines and letters grow with the image."""
MIN_SCALE = 0.6
"""Smaller letters cannot be read."""
COARSE = 4
"""Reduction of the image in which regions of bodies without a mask are found, at scale 1."""
REACH_PX = 24.0
"""Tracks up to about twice this distance apart, at scale 1, share an outline."""
TINT = 0.30
"""Share of the body's colour inside of its outline."""
MAX_BODY_LINES = 6
"""Largest number of bodies that the legend lists; others are only counted."""
SHIFT = 4
"""Bits of the fraction of a pixel in coordinates of lines."""
FAR_PX = 30_000.0
"""Largest coordinate of the end of a line: OpenCV uses 32 bits."""
WHITE: Bgr = (255, 255, 255)
BLACK: Bgr = (0, 0, 0)
FONT = cv2.FONT_HERSHEY_SIMPLEX


class LegendLine(NamedTuple):
    """A line of the legend."""

    colour: Bgr | None
    """Colour of its swatch; None for no swatch."""
    text: str
    hollow: bool = False
    """Whether dots and swatch have a dark middle, because the colour is used twice."""


@dataclass(frozen=True)
class _Region:
    """The region of a body in the image."""

    left: int
    top: int
    soft: Image
    """255 inside of the body, 0 outside; its first pixel is at (left, top) of the image."""
    ramp: float
    """Pixels over which ``soft`` rises; the outline is in the middle."""


def draw_overlay(image: npt.NDArray[np.generic], result: FrameResult,
                 instances: Instances | None = None) -> Image:
    """
    Draw what moves, the tracks and a legend over the newer frame of a pair; return it as BGR.

    The frame (grey, BGR or BGRA of 8 or 16 bits) itself is not changed. ``instances`` (height,
    width) are the ids of a dense mask, 0 and less for no body; without them, the outline of a body
    surrounds its tracks.
    """
    canvas = to_bgr(image)
    scale = max(MIN_SCALE, math.sqrt(canvas.shape[0] * canvas.shape[1] / REFERENCE_PIXELS))
    points, labels = result.correspondences, result.labels
    if instances is not None and instances.shape != canvas.shape[:2]:
        instances = cv2.resize(instances, canvas.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    stamp(canvas, points.x2[labels == OUTLIER], _disc(0.4 * scale), _ink(OUTLIER))
    stamp(canvas, points.x2[labels == WORLD], _disc(0.5 * scale), _ink(WORLD))
    bodies = [motion for motion in result.motions if not motion.is_world]
    if instances is not None:
        # A mask may show a body that has no tracks, and so no motion, now. Every fourth pixel
        # suffices to find it.
        regions = {body: _mask_region(instances, body, scale)
                   for body in np.unique(instances[::2, ::2]).tolist() if body > 0}
    else:
        regions = {body.id: _tracks_region(canvas, points.x2[body.members], scale)
                   for body in bodies}
    for body_id, region in regions.items():
        if region is not None:
            draw_region(canvas, region.left, region.top, region.soft, region.ramp,
                        _ink(body_id), TINT, _outline_width(scale))
    for body in bodies:
        _draw_tracks(canvas, points, body.members, body.id, scale)
    # Boxes and tags last, so that tracks do not hide tags.
    for body in bodies:
        box = _box(canvas, body)
        cv2.rectangle(canvas, box[:2], box[2:], motion_bgr(body.id), max(1, round(scale)))
    for body in bodies:
        _draw_tag(canvas, body, scale)
    _draw_legend(canvas, legend_lines(result), scale)
    return canvas


def legend_lines(result: FrameResult) -> list[LegendLine]:
    """Return the lines of the legend: number of bodies, each body, other tracks, the pair."""
    lines: list[LegendLine] = []
    bodies = [m for m in result.motions if not m.is_world]
    if result.has_pair:
        said = {0: 'nothing moves', 1: '1 body moves'}
        lines.append(LegendLine(None, said.get(len(bodies), f'{len(bodies)} bodies move')))
    for m in bodies[:MAX_BODY_LINES]:
        lines.append(LegendLine(motion_bgr(m.id), f'{m.id}  {m.count} points, {m.kind.value}',
                                is_second_round(m.id)))
    if len(bodies) > MAX_BODY_LINES:
        lines.append(LegendLine(None, f'and {len(bodies) - MAX_BODY_LINES} more'))
    if result.has_pair:
        still = int(np.count_nonzero(result.labels == WORLD))
        wrong = int(np.count_nonzero(result.labels == OUTLIER))
        lines.append(LegendLine(motion_bgr(WORLD), f'world {still}, outliers {wrong}'))
        seconds = (result.stamp - result.previous_stamp) / 1e9
        frames = f'{result.gap} frame' + ('s' if result.gap > 1 else '')
        lines.append(LegendLine(None, f'gap {frames}, {seconds:.2f} s'))
    if result.reason:
        lines.append(LegendLine(None, result.reason))
    return lines


def tag_text(motion: Motion) -> str:
    """Return the tag of a body: its id and its probability of moving."""
    return f'{motion.id}  {100 * motion.moving:.0f}%'


def to_bgr(image: npt.NDArray[np.generic]) -> Image:
    """Return an 8-bit BGR copy; 16-bit images are scaled to their range."""
    check_array(image)
    pixels = image.reshape(image.shape[:2]) if image.ndim == 3 and image.shape[2] == 1 else image
    if pixels.dtype != np.uint8:
        pixels = cv2.normalize(pixels, None, 0, 255, cv2.NORM_MINMAX, cv2.CV_8U)
    if pixels.ndim == 2:
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR))
    if pixels.shape[2] == 4:
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR))
    return np.array(pixels, np.uint8)


@lru_cache(maxsize=64)
def _disc(radius: float) -> IntArray:
    """Return (P, 2) pixel offsets of a disc."""
    reach = math.ceil(radius)
    grid = np.mgrid[-reach:reach + 1, -reach:reach + 1].reshape(2, -1).T[:, ::-1]
    distance = np.hypot(*grid.T)
    return np.ascontiguousarray(grid[distance <= radius + 0.5], np.int64)


def _ink(motion_id: int) -> Image:
    """Return the colour of a motion as an array."""
    return np.array(motion_bgr(motion_id), np.uint8)


def _outline_width(scale: float) -> float:
    return max(2.0, 2.0 * scale)


def _mask_region(instances: Instances, body: int, scale: float) -> _Region | None:
    """Return the region of a body in a dense mask."""
    mask = (instances == body).view(np.uint8)
    left, top, width, height = cv2.boundingRect(mask)
    if not width:
        return None
    blur = 2 * math.ceil(0.5 * _outline_width(scale) + 1.5) + 1
    left, top, right, bottom = (max(0, left - blur), max(0, top - blur), left + width + blur,
                                top + height + blur)
    part = np.multiply(mask[top:bottom, left:right], 255, dtype=np.uint8)
    soft = cv2.blur(part, (blur, blur), borderType=cv2.BORDER_REPLICATE)
    return _Region(left, top, np.ascontiguousarray(soft, np.uint8), float(blur))


def _tracks_region(canvas: Image, at: npt.NDArray[np.float64], scale: float) -> _Region | None:
    """Return the region around the tracks of a body; gaps up to about 2 REACH_PX are closed."""
    height, width = canvas.shape[:2]
    x, y = at.T
    at = at[(x > -0.5) & (x < width - 0.5) & (y > -0.5) & (y < height - 0.5)]
    if not len(at):
        return None
    side = round(COARSE * max(1.0, scale))
    reach = max(2, round(REACH_PX * scale / side))
    margin = reach // 4 + 1
    blur = max(3, 2 * math.ceil((0.5 * _outline_width(scale) + 2.0) / side) + 1)
    cell = np.rint(at).astype(np.int64) // side
    first = cell.min(axis=0) - reach
    columns, rows = (cell.max(axis=0) + reach + 1 - first).tolist()
    coarse = np.zeros((rows, columns), np.uint8)
    cell -= first
    coarse[cell[:, 1], cell[:, 0]] = 255
    # Closing, with a margin around the outermost tracks.
    coarse = cv2.dilate(coarse, _ellipse(reach))
    coarse = cv2.erode(coarse, _ellipse(reach - margin), borderType=cv2.BORDER_CONSTANT,
                       borderValue=(0,))
    cut = max(0, reach - margin - blur // 2 - 1)
    coarse = cv2.blur(coarse[cut:rows - cut, cut:columns - cut], (blur, blur))
    soft = cv2.resize(coarse, None, fx=side, fy=side, interpolation=cv2.INTER_LINEAR)
    left, top = ((first + cut) * side).tolist()
    inside = soft[max(0, -top):max(0, height - top), max(0, -left):max(0, width - left)]
    return _Region(max(0, left), max(0, top), np.ascontiguousarray(inside, np.uint8),
                   float(blur * side))


@lru_cache(maxsize=16)
def _ellipse(radius: int) -> Image:
    side = 2 * radius + 1
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)), np.uint8)


def _draw_tracks(canvas: Image, points: Correspondences, members: IntArray, body: int,
                 scale: float) -> None:
    """Draw the tracks of a body: a dot at the new position, a thin line from the old one."""
    now, colour, radius = points.x2[members], _ink(body), 1.6 * scale
    ends = np.clip(np.stack([points.x1[members], now], axis=1), -FAR_PX, FAR_PX)
    # Smooth lines look the same, and take a quarter of the time of the whole overlay.
    cv2.polylines(canvas, np.rint(ends * 2**SHIFT).astype(np.int32), False, colour.tolist(),
                  max(1, round(0.7 * scale)), cv2.LINE_8, SHIFT)
    stamp(canvas, now, _disc(radius), colour)
    if is_second_round(body):
        stamp(canvas, now, _disc(0.3 * radius), np.zeros(3, np.uint8))


def _box(canvas: Image, body: Motion) -> tuple[int, int, int, int]:
    """Return a body's box within the image."""
    right, bottom = canvas.shape[1] - 1, canvas.shape[0] - 1
    a, b, c, d = np.clip(body.box, 0, (right, bottom, right, bottom)).astype(np.int64).tolist()
    return a, b, c, d


def _draw_tag(canvas: Image, body: Motion, scale: float) -> None:
    """Write the tag on a background of the body's colour above its box, or inside of it."""
    left, top, _, _ = _box(canvas, body)
    size, thick, pad = 0.5 * scale, max(1, round(scale)), round(3 * scale)
    (wide, high), _ = cv2.getTextSize(tag_text(body), FONT, size, thick)
    left = max(0, min(left, canvas.shape[1] - wide - 2 * pad))
    if top >= high + 2 * pad:
        top -= high + 2 * pad
    colour = motion_bgr(body.id)
    cv2.rectangle(canvas, (left, top), (left + wide + 2 * pad, top + high + 2 * pad), colour,
                  cv2.FILLED)
    blue, green, red = colour  # the luma of ITU-R BT.601 tells which ink can be read on it
    ink = BLACK if 0.114 * blue + 0.587 * green + 0.299 * red > 110 else WHITE
    cv2.putText(canvas, tag_text(body), (left + pad, top + high + pad), FONT, size, ink, thick,
                cv2.LINE_AA)


def _draw_legend(canvas: Image, lines: list[LegendLine], scale: float) -> None:
    """Write the lines on a darkened box at the top left, each with a swatch of its colour."""
    if not lines:
        return
    width = canvas.shape[1]
    size, thick = 0.4 * scale, max(1, round(scale))
    pad, step = round(5 * scale), round(15 * scale)
    indent = round(16 * scale)
    longest = max(cv2.getTextSize(text, FONT, size, thick)[0][0] for _, text, _ in lines)
    # A long reason is written in smaller letters, so that it fits a small image.
    room = max(1, width - 3 * pad - indent)
    if longest > room:
        size *= room / longest
        longest = room
    box = canvas[:2 * pad + step * len(lines), :3 * pad + indent + longest]
    cv2.convertScaleAbs(box, dst=box, alpha=0.35)
    for row, (colour, text, hollow) in enumerate(lines):
        middle, left = pad + step * row + step // 2, pad
        if colour is not None:
            half = round(4 * scale)
            cv2.rectangle(canvas, (pad, middle - half), (pad + 2 * half, middle + half), colour,
                          cv2.FILLED)
            if hollow:
                cv2.circle(canvas, (pad + half, middle), half // 2, BLACK, cv2.FILLED,
                           cv2.LINE_AA)
            left += indent
        cv2.putText(canvas, text, (left, middle + round(4 * scale)), FONT, size, WHITE, thick,
                    cv2.LINE_AA)


@kernel
def stamp(canvas: Image, at: FloatArray, offsets: IntArray, colour: Image) -> None:
    """
    Draw the same dot at many positions, in place.

    ``at`` (N, 2) are the centres in pixels; parts outside of the picture are not drawn.
    ``offsets`` (P, 2) are the pixels of the dot about its centre.
    """
    height, width = canvas.shape[:2]
    for n in range(len(at)):
        # Comparisons with NaN are false.
        if not (-width < at[n, 0] < 2 * width and -height < at[n, 1] < 2 * height):
            continue
        x, y = int(round(at[n, 0])), int(round(at[n, 1]))
        for p in range(len(offsets)):
            u, v = x + offsets[p, 0], y + offsets[p, 1]
            if 0 <= u < width and 0 <= v < height:
                for c in range(3):
                    canvas[v, u, c] = colour[c]


@kernel
def draw_region(canvas: Image, left: int, top: int, soft: Image, ramp: float, colour: Image,
                tint: float, thickness: float) -> None:
    """
    Tint a region in place and outline it, with a thin dark line on either side of the outline.

    ``soft`` (h, w) begins at the pixel (left, top) of the picture, which holds all of it: 255
    inside of the region and 0 outside; in between it rises over ``ramp`` pixels, more than
    ``thickness + 3``. ``tint`` is the share of the colour inside.
    """
    tinted = np.empty((3, 256), np.uint8)
    for c in range(3):
        for value in range(256):
            tinted[c, value] = np.uint8(value + tint * (colour[c] - value) + 0.5)
    reach = 0.5 * thickness + 1.5
    # The values of ``soft`` at that distance from the outline, outside and inside.
    outer, inner = int(128.5 - reach * 255.0 / ramp), int(127.5 + reach * 255.0 / ramp)
    for v in range(soft.shape[0]):
        for u in range(soft.shape[1]):
            value = int(soft[v, u])
            if value < outer:
                continue
            x, y = left + u, top + v
            if value > 127:
                for c in range(3):
                    canvas[y, x, c] = tinted[c, canvas[y, x, c]]
                if value > inner:
                    continue
            depth = (value - 127.5) * (ramp / 255.0)
            dark = min(1.0, reach - abs(depth))
            line = min(1.0, max(0.0, reach - 1.0 - abs(depth)))
            for c in range(3):
                canvas[y, x, c] = np.uint8(
                    canvas[y, x, c] * (1.0 - dark) * (1.0 - line) + colour[c] * line + 0.5)
