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
SMOOTHNESS = 1.1
"""Nats of an edge between neighbours of like flow with different labels [footage]."""
STAY = 1.0
"""Nats of a track that leaves the label of the frame before [footage]."""
PRICE = 40.0
"""Nats of a body [footage]."""
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
    outlier: float = 7.9
    smoothness: float = 6.6
    coding: float = 0.5
    dimension: float = 3.9
    null: float = 0.71
    motion: float = 78.0
    part: float = 70.0
    core: float = 4.5
    share_cap: float = 0.83
    size: float = 0.18
    most_noise: float = 4.3
    loose: float = 0.2
    epsilon: float = 0.35
    smallest: int = 6


FIT_FLOW_VARIANCE = FLOW_VARIANCE / 4.0
POOL = 60
COVERS = 24
PROPOSAL_BATCHES, FRESH_BATCHES, BATCH = 3, 1, 40
TRIED = 3
CYCLES = 2
EPSILON = 0.35
ROUNDS = 3
NULL = 0.71
