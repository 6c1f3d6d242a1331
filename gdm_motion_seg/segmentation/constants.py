# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The constants of the segmentation, each with its unit and its reason."""

from typing import NamedTuple


class Weights(NamedTuple):
    """The constants of the energy, in nats; a point costs 1/2 at one standard deviation."""

    cap: float = 8.0
    """Most that a point can cost its motion: 4 standard deviations."""
    tail: float = 8.0
    outlier: float = 5.0
    """Price of an outlier."""
    smoothness: float = 6.0
    """lambda: neighbours with different labels."""
    coding: float = 0.0
    """eta: coding of the labels."""
    dimension: float = 1.5
    """kappa: excess dimension of a point's cluster."""
    motion: float = 65.0
    """beta: price of a motion."""
    body: float = 0.0
    """gamma: price of a connected part of a motion."""
    core: float = 4.5
    """Cost up to which a point counts in the dimensions: 3 standard deviations."""
    null: float = 1.0
    dimension_cap: float = 8.0
    stay: float = 0.0
    """tau"""
    epsilon: float = 0.35
    """Of the empirical dimension."""
    smallest: int = 6
    """Points below which a motion is dissolved."""


NOISE_PX = 0.2
"""Standard deviation of a tracked point that hardly moves."""
NOISE_OF_FLOW = 0.005
"""What every pixel of flow adds to it: patches change as they move, and no lens is a pinhole."""
NEIGHBOURS = 8
"""Neighbours of a point with which it likes to share its motion."""
FLOW_CONTRAST = 0.3
"""Flow difference, over the distance, at which two neighbours are bound by 1 / e only."""
CONTRAST_FLOOR_PX = 5.0
"""Distance that is added in that, so that noise does not part very near neighbours."""
