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

From the fifth on, each is the one that is farthest from those before it in the eyes of those who
see it worst: people with normal sight and with the three kinds of colour blindness (CIELAB).
"""

WORLD_RGB: Rgb = (200, 200, 200)
"""The static world; a darker grey looks like bluish green and like reddish purple."""
OUTLIER_RGB: Rgb = (56, 56, 56)
"""Wrong matches: nearly the background of RViz, and as far from the colours as a grey can be."""


def is_second_round(motion_id: int) -> bool:
    """Whether the colour of a body was given before, so that it needs another mark."""
    return motion_id > 0 and (motion_id - 1) // len(PALETTE) % 2 == 1


def motion_rgb(motion_id: int) -> Rgb:
    """Return red, green, blue of a motion by its id: 0 is the world, a negative one an outlier."""
    if motion_id > 0:
        return PALETTE[(motion_id - 1) % len(PALETTE)]
    return OUTLIER_RGB if motion_id else WORLD_RGB


def motion_bgr(motion_id: int) -> Bgr:
    """Return the same colour in OpenCV's order."""
    red, green, blue = motion_rgb(motion_id)
    return blue, green, red
