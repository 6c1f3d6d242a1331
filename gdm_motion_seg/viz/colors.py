# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Colours of bodies that colour-blind people can tell apart; the static world is grey."""

Rgb = tuple[int, int, int]
Bgr = tuple[int, int, int]

PALETTE: tuple[Rgb, ...] = (
    (230, 159, 0),    # orange
    (86, 180, 233),   # sky blue
    (0, 158, 115),    # bluish green
    (240, 228, 66),   # yellow
    (136, 34, 255),   # violet
    (170, 255, 136),  # light green
    (221, 0, 68),     # crimson
    (187, 102, 255),  # lilac
    (0, 238, 153),    # mint
    (213, 94, 0),     # vermillion
    (204, 121, 167),  # reddish purple
    (0, 114, 178),    # blue
)
"""
Okabe and Ito's palette without black, and five colours far from it.

From the fifth on, each colour has the largest distance (CIELAB) to the earlier ones, for the worst
of normal sight and the three kinds of colour blindness.
"""

WORLD_RGB: Rgb = (200, 200, 200)
"""The static world; a darker grey looks like bluish green and like reddish purple."""
OUTLIER_RGB: Rgb = (56, 56, 56)
"""Wrong matches: close to the background of RViz, and as far from the colours as a grey can be."""


def is_second_round(motion_id: int) -> bool:
    """Whether the colour of a body is used for the second time, so that it needs a mark."""
    return motion_id > 0 and (motion_id - 1) // len(PALETTE) % 2 == 1


def motion_rgb(motion_id: int) -> Rgb:
    """Return the RGB colour of an id: 0 is the world, a negative id is an outlier."""
    if motion_id > 0:
        return PALETTE[(motion_id - 1) % len(PALETTE)]
    return OUTLIER_RGB if motion_id else WORLD_RGB


def motion_bgr(motion_id: int) -> Bgr:
    """Return the same colour as BGR."""
    red, green, blue = motion_rgb(motion_id)
    return blue, green, red
