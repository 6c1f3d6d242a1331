# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The constants of the segmentation, in one place.

Each has its unit and the reason for its value. The command that chose it stands in brackets:
[footage] is ``bench footage`` on one half of the KITTI clips and DAVIS sequences. Evidence is in
nats: (residual / noise)^2 / 2. The weights of a single pair were chosen together on a random half
of Hopkins155, AdelaideRMF and KT3DMoSeg and on scenes of the sweep ``small``; ``bench ablation``
tells what each term is worth.
"""

from typing import NamedTuple

# Noise of a displacement.
POINT_VARIANCE = 0.08
"""Square pixels: 0.2 px at both ends of a track."""
FLOW_VARIANCE = 2e-4
"""Per square pixel of flow: patches change as they move, and no lens is a pinhole."""

# The world.
RELIEF = 10.0
"""Residuals from the smooth world of up to so many medians are relief, not motion [footage]."""
DEPTH_GAIN = 1.2
"""Nats per track from which on depth, not one smooth flow, explains the world [footage]."""
BEHIND_PX, BEHIND_SHARE = 1.0, 0.03
"""Tolerated negative parallax, in pixels and per pixel of flow: the focal length is guessed."""
NEAR_GROUND = 0.15
"""Share of the image width along whose lower border a group is near ground [footage]."""
ACQUITTAL = 4.0
"""Mean nats up to which near ground agrees with a rigid world of its own [footage]."""
CAP = 8.0
"""Most nats that a track contradicts the world over one gap: 4 standard deviations."""
MEMORY_S = 0.1
"""Half-life of a track's evidence, in seconds [footage]."""

# Neighbours in the image.
NEIGHBOURS = 8
"""Neighbours of a track."""
REACH = 0.08
"""Largest distance of neighbours, as a share of the image width [footage]."""
LIKE_PX, LIKE_SLOPE, LIKE_SHARE = 2.0, 0.5, 0.05
"""Neighbours on one body differ in flow by so many pixels, per pixel of distance and of flow."""

# The energy of a partition.
SUSPICIOUS = 3.0
"""Nats from which on a track may propose a body: 2.4 standard deviations."""
OUTLIER = 7.5
"""Nats of a wrong match: a little below the cap, so that only flat contradiction is one."""
SMOOTHNESS = 0.8
"""Nats of an edge between neighbours of like flow with different labels [footage]."""
STAY = 1.0
"""Nats of a track that leaves the label of the frame before [footage]."""
PRICE, FIRST_PRICE = 25.0, 50.0
"""Nats of a body, and of one that was not there in the frame before [footage]."""
SMALLEST = 5
"""Tracks of a body: fewer do not determine its flow."""
BODY_PX, BODY_SHARE = 0.6, 0.1
"""Noise of a track about the affine flow of its body, in pixels and per pixel of flow."""
BODY_CAP = 4.0
"""Most nats of a track within its body: bodies bend."""
DIMENSION = 2.0
"""Nats per track and unit of its body's empirical dimension (the paper's d-hat) [ablation]."""


# A single pair.
class Weights(NamedTuple):
    """The constants of the energy, in nats; a point costs 1/2 at one standard deviation."""

    tail: float = 4.7
    """Cost from which on it grows with its logarithm only: real residuals have heavy tails."""
    outlier: float = 7.9
    """Price of an outlier, besides its bonds: 4 standard deviations."""
    smoothness: float = 6.6
    """lambda: price of a bond of weight 1 between neighbours with different labels."""
    coding: float = 0.5
    """eta: price of a nat of the code of the labels."""
    dimension: float = 3.9
    """Price of one excess dimension of a point's cluster."""
    null: float = 0.71
    """Share of the dimension of the places alone that is subtracted: what any split would gain."""
    motion: float = 78.0
    """Price of a motion."""
    body: float = 70.0
    """Price of a connected part of a motion: two cars that drive alike are two bodies."""
    core: float = 4.5
    """Cost up to which a point counts in the dimensions: 3 standard deviations."""
    dimension_cap: float = 0.83
    """Most dimensions that a point's share counts while labels are assigned: it is an estimate."""
    size: float = 0.18
    """gamma: errors of tracks are correlated, so what a split gains by chance grows with size."""
    least_noise: float = 1.0
    most_noise: float = 4.3
    """Range of the variance of a pair's noise over the assumed one."""
    loose: float = 0.2
    """Share of the smoothness in the first rounds of a descent: all of it would freeze them."""
    epsilon: float = 0.35
    """Of the empirical dimension, from the paper."""
    smallest: int = 6
    """Points below which a motion is dissolved: five determine one."""


NOISE_PX = 0.2
"""Standard deviation of a tracked point that hardly moves, in pixels."""
NOISE_OF_FLOW = 0.005
"""What every pixel of flow adds to it: patches change as they move, and no lens is a pinhole."""
FLOW_CONTRAST = 0.3
"""Flow difference, over the distance, at which two neighbours are bound by 1 / e only."""
COVERS = 24
"""Random covers of the points by K proposals from which a cold search starts."""
PROPOSAL_BATCHES, FRESH_BATCHES, BATCH = 3, 1, 40
"""Batches of samples of a search, of those at unexplained points, and samples of a batch."""
TRIED = 3
"""Proposals that are tried as a further motion of each partition."""
CYCLES = 2
"""Times that motions are added to all partitions and removed from all."""
