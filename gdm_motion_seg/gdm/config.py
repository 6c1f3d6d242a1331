# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of Algorithm 1 under the paper's names, with the paper's defaults."""

from dataclasses import dataclass

from gdm_motion_seg.settings import Config, setting


@dataclass(frozen=True)
class GdmConfig(Config):
    """Settings of global dimension minimization (the paper's Algorithm 1 and section 5)."""

    epsilon: float = setting(
        0.35, 'Strictness of the empirical dimension: near 0 strict, 1 lenient.',
        low=0.01, high=1.0)
    p: float = setting(
        15.0, 'Exponent of the norm over cluster dimensions; Theorem 2 gives its lower bound.',
        low=1.0, high=100.0)
    n1: int = setting(
        10, 'Number of restarts; 0 uses only the starts that the caller gives.', low=0, high=1000)
    n2: int = setting(30, 'Number of projected-gradient steps.', low=0, high=1000)
    n3: int = setting(10, 'Number of sweeps of point-by-point reassignment.', low=0, high=1000)
    n_pairs: int = setting(
        20, 'Number of random pairs of sets that are tried for a merge of an agglomerative start.',
        low=1, high=10000)
    step: float = setting(
        0.3, 'Distance that the most affected membership vectors move in one step.',
        low=0.001, high=1.0)
    search: str = setting(
        'default', 'The search: default (random and agglomerative starts, ties broken), paper '
        '(Algorithm 1, whose starts merge the pair with the union of lowest dimension) or '
        'paper-literal (the same, merging by the p-norm over all sets).',
        choices=('default', 'paper', 'paper-literal'))
    tie_weight: float = setting(
        0.01, 'Weight of the sum of dimensions, relative to the global dimension, in the last '
        'reassignment of the default search.', low=0.0, high=1.0)
    outliers: str = setting(
        'classic', 'Treatment of outliers, as in section 5 of the paper.',
        choices=('classic', 'naive', 'known-fraction', 'model-reassign'))
    alpha: float = setting(
        0.01, 'Price of putting one point into the outlier group.', low=0.0, high=10.0)
    outlier_price: str = setting(
        'quadratic', 'Price of an outlier membership m in the descent: quadratic '
        '(alpha m^2 / 2, whose derivative alpha m the paper prints) or linear (alpha m).',
        choices=('quadratic', 'linear'))
    outlier_fraction: float = setting(
        0.2, 'Share of the points that known-fraction and model-reassign set aside.',
        low=0.0, high=0.99)
    kappa: float = setting(
        0.05, 'Model-reassign: largest distance of an inlier from its subspace; '
        '0 takes mu + r sigma of each cluster instead.', low=0.0, high=1e6)
    r: float = setting(
        3.0, 'Model-reassign with kappa 0: number of standard deviations over the mean residual.',
        low=0.0, high=100.0)
