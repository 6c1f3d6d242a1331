# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The constants of the segmentation, in one place.

Each has its unit and the reason for its value. The command that chose it stands in brackets:
[footage] is ``bench footage`` on one half of the KITTI clips and DAVIS sequences, [pairs] are
``bench hopkins155``, ``adelaide`` and ``kt3dmoseg`` on all of their pairs. Evidence is
in nats: (residual / noise)^2 / 2. ``bench ablation`` tells what each term is worth. The noise of
a track is in ``geometry.static_world``.
"""

from typing import NamedTuple

# The world.
RELIEF = 10.0
"""Residuals from the smooth world of up to so many medians are relief, not motion [footage]."""
DEPTH_GAIN = 1.2
"""Nats per track from which on depth, not one smooth flow, explains the world [footage]."""
NEAR_GROUND = 0.15
"""Share of the image height, from its lower border, in which near ground lies [footage]."""
CAP = 8.0
"""Most nats that a track contradicts the world over one gap: 4 standard deviations. Half of it is
the most nats of a track within its body, because bodies bend."""
LARGE = 0.15
"""Share of the tracks from which on a body does not vote even if its evidence is weak: the world
would become its own [the rendered bus]."""
FEWEST = 30
"""Tracks below which a gap tells nothing about the world."""
MEMORY_S, BODY_MEMORY_S = 0.1, 0.3
"""Half-life of a track's evidence in seconds, and of that of a body's track [footage]."""

# Neighbours.
NEIGHBOURS = 8
"""Neighbours of a track."""
REACH = 0.08
"""Largest distance of neighbours in a window, as a share of the image width [footage]. Half of it
is the side of the cells in which the weights of tracks are balanced."""
BOND_PX, BOND_SLOPE, BOND_SHARE = 1.5, 0.3, 0.03
"""Difference of flow, in pixels, per pixel of distance and of flow, at which a bond is 1 / e
[pairs]. The last only in windows [footage]: pairs have wrong matches with a large flow."""
LIKE = 0.22
"""Least bond of neighbours on one body: 1.5 times that difference."""

# The energy of a window.
SUSPICIOUS = 3.0
"""Nats from which on a track may propose a body: 2.4 standard deviations. Also the nats by which a
body explains a track better than the world where half of such tracks move, and those of one unit
of log-odds [footage, on both halves], and the most nats of a track while rigid worlds compete:
with a higher cap, a pose between world and a large body is cheaper than that of the world."""
OUTLIER = 7.5
"""Nats of a wrong match: a little below the cap, so that only flat contradiction is one. Also the
nats at which a track without a body is as likely a wrong match as a moving one, and the mean nats
of a body's tracks below which they vote for the world all the same."""
SMOOTHNESS = 1.1
"""Nats of an edge of bond 1 between tracks with different labels [footage]."""
STAY = 1.0
"""Nats of a track that leaves the label of the frame before [footage]."""
PRICE = 40.0
"""Nats of a body [footage]."""
DIMENSION = 1.25
"""Nats per track and unit of its body's excess dimension [ablation]."""
SMALLEST = 5
"""Tracks of a body or a motion: fewer determine neither an affine flow nor a rigid motion."""
BODY_PX, BODY_SHARE = 0.6, 0.1
"""Noise of a track about the affine flow of its body, in pixels and per pixel of flow."""


class Weights(NamedTuple):
    """
    The weights of the energy of a pair, in nats; a point costs 1/2 at one standard deviation.

    The prices of an outlier and of a motion are those of windows. A pair has one gap and no past,
    so its motions must be rigid to be told apart, and neighbours count more. The others were
    chosen together [pairs].
    """

    outlier: float = OUTLIER
    """Price of an outlier, besides its bonds."""
    dimension: float = 2.8
    """kappa: price of one excess dimension of a point's cluster."""
    smoothness: float = 4.0
    """lambda: price of a bond of weight 1 between neighbours with different labels."""
    null: float = 0.71
    """c: share of the dimension of the places that is subtracted: what any split would gain."""
    motion: float = PRICE
    """beta: price of a motion, besides that of its size."""
    size: float = 0.86
    """gamma: errors of tracks are correlated, so what a split gains by chance grows with size."""
    core: float = 4.5
    """Cost beyond which a point does not count in the dimensions, and from which on it grows with
    its logarithm only: residuals have heavy tails. 3 standard deviations."""
    far: float = 40.0
    """Cost beyond which no point follows its motion: 9 standard deviations."""
    most_noise: float = 4.3
    """Largest variance of a pair's noise over the assumed one."""
    loose: float = 0.2
    """Share of the smoothness in the first round of a descent: all of it would freeze them."""
    epsilon: float = 0.35
    """Strictness of the empirical dimension, from the paper."""


# The search of a pair.
SAMPLE = 8
"""Points of a sample: a few more than five, so that noise does not decide it."""
SCALES = (12, 25, 60)
"""Sizes of the neighbourhoods that are sampled; one share is drawn from the whole image."""
BATCHES, BATCH = 2, 40
"""Batches of samples of a search, and samples of a batch."""
BOND_LEVELS = (0.2, 0.4, 0.6, 0.75, 0.9)
"""Bonds at which the neighbour graph is cut into clusters of flow."""
TRIALS = 12
"""Starts that are screened at each step of the search: covers of the points by K proposals, the
best of four times as many, or proposals for a further motion. Each proposal of a cover is the best
of so many that are drawn at random."""
MARGIN = 0.3
"""Nats by which a proposal must beat the present cost of a point to claim it."""
SAME = 0.7
"""Proposals that share so much of what they claim are tried only once."""
SEARCHED = 330
"""Points that are searched where there are more than three times as many: half of the time for
1400 points. Of 300, bodies of a twentieth of the points were missed."""
