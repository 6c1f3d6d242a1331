# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Colours of motions that colour-blind people can tell apart."""

PALETTE: tuple[tuple[int, int, int], ...] = (
    (86, 180, 233),   # sky blue
    (230, 159, 0),    # orange
    (0, 158, 115),    # bluish green
    (204, 121, 167),  # reddish purple
    (240, 228, 66),   # yellow
    (213, 94, 0),     # vermillion
    (0, 114, 178),    # blue
)
"""Red, green, blue of Okabe and Ito's palette without black; the static world is usually 0."""

OUTLIER_RGB = (150, 150, 150)
"""Red, green, blue of points without a motion."""


def motion_rgb(motion_id: int) -> tuple[int, int, int]:
    """Return red, green, blue of a motion by its identity; negative for outliers."""
    return PALETTE[motion_id % len(PALETTE)] if motion_id >= 0 else OUTLIER_RGB


def motion_bgr(motion_id: int) -> tuple[int, int, int]:
    """Return the same colour in OpenCV's order."""
    red, green, blue = motion_rgb(motion_id)
    return blue, green, red
