# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The constants of the segmentation, each with its unit and its reason.

The weights of the energy were chosen together on a random half of Hopkins155, AdelaideRMF and
KT3DMoSeg and on scenes of the sweep ``small``, so that the partition of lowest energy has the
lowest error (docs/ablation.md). ``gdm-motion-seg bench hopkins155``, ``adelaide``, ``kt3dmoseg``
and ``synthetic`` check them, ``gdm-motion-seg bench ablation`` tells what each term is worth.
"""

from typing import NamedTuple


class Weights(NamedTuple):
    """The constants of the energy, in nats; a point costs 1/2 at one standard deviation."""

    tail: float = 6.0
    """Cost from which on it grows with its logarithm only: real residuals have heavy tails."""
    outlier: float = 5.8
    """Price of an outlier, besides its bonds: 3.9 standard deviations."""
    smoothness: float = 9.3
    """lambda: price of a bond of weight 1 between neighbours with different labels."""
    dimension: float = 3.3
    """Price of one excess dimension of a point's cluster."""
    null: float = 0.78
    """Share of the dimension of the places alone that is subtracted: what any split would gain."""
    motion: float = 95.0
    """Price of a motion."""
    body: float = 68.0
    """Price of a connected part of a motion: two cars that drive alike are two bodies."""
    stay: float = 2.0
    """tau: price of another label than in the last frame."""
    core: float = 4.5
    """Cost up to which a point counts in the dimensions: 3 standard deviations."""
    dimension_cap: float = 1.0
    """Most dimensions that a point's share counts while labels are assigned: it is an estimate."""
    loose: float = 0.15
    """Share of the smoothness in the first rounds of a descent: all of it would freeze them."""
    epsilon: float = 0.35
    """Of the empirical dimension, from the paper."""
    smallest: int = 6
    """Points below which a motion is dissolved: five determine one."""


NOISE_PX = 0.2
"""Standard deviation of a tracked point that hardly moves, in pixels."""
NOISE_OF_FLOW = 0.005
"""What every pixel of flow adds to it: patches change as they move, and no lens is a pinhole."""
NEIGHBOURS = 8
"""Neighbours of a point in (x, x') with which it shares its motion."""
FLOW_CONTRAST = 0.3
"""Flow difference, over the distance, at which two neighbours are bound by 1 / e only."""
PROPOSAL_BATCHES, FRESH_BATCHES, BATCH = 3, 1, 40
"""Batches of samples of a search, of those at unexplained points, and samples of a batch."""
TRIED = 5
"""Proposals that are tried as a further motion of each partition."""
CYCLES = 3
"""Times that motions are added to all partitions and removed from all."""
