# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Colours of motions that colour-blind people can tell apart."""

Rgb = tuple[int, int, int]
Bgr = tuple[int, int, int]

PALETTE: tuple[Rgb, ...] = (
    (86, 180, 233),   # sky blue
    (230, 159, 0),    # orange
    (0, 158, 115),    # bluish green
    (240, 228, 66),   # yellow
    (204, 121, 167),  # reddish purple
    (213, 94, 0),     # vermillion
    (0, 114, 178),    # blue
)
"""Okabe and Ito's palette without black; neighbours differ in lightness as well as in hue."""

OUTLIER_RGB: Rgb = (160, 160, 160)
"""Points without a motion."""


def motion_rgb(motion_id: int) -> Rgb:
    """Return red, green, blue of a motion by its identity; a negative one is an outlier."""
    return PALETTE[motion_id % len(PALETTE)] if motion_id >= 0 else OUTLIER_RGB


def motion_bgr(motion_id: int) -> Bgr:
    """Return the same colour in OpenCV's order."""
    red, green, blue = motion_rgb(motion_id)
    return blue, green, red


OUTLIER_BGR: Bgr = motion_bgr(-1)
"""Points without a motion, in OpenCV's order."""
