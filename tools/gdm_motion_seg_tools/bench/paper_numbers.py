# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The numbers that the paper reports (Poling, Lerman, IJCV 2014), by the method of ours."""

HOPKINS = {
    'gdm-paper': {2: ((2.79, 0.0), (1.78, 0.0), (2.66, 0.0), (2.51, 0.0)),
                  3: ((5.37, 3.23), (4.23, 2.69), (5.32, 5.32), (5.14, 3.13))},
    'mapa-nonlinear': {2: ((12.85, 14.07), (6.49, 6.93), (7.15, 5.33), (10.69, 10.03)),
                       3: ((21.89, 19.49), (13.15, 13.04), (9.04, 9.04), (19.41, 18.09))},
    'scc-nonlinear': {2: ((2.79, 0.0), (1.97, 0.0), (3.42, 0.0), (2.64, 0.0)),
                      3: ((8.05, 5.85), (4.67, 5.45), (5.85, 5.85), (7.25, 5.45))},
    'slbf-ms': {2: ((8.18, 1.39), (3.98, 0.53), (4.73, 0.40), (6.78, 1.11)),
                3: ((14.08, 12.80), (7.93, 6.75), (4.79, 4.79), (12.32, 9.57))},
}
"""Mean and median error in percent by category (checkerboard, traffic, articulated, all)."""

HOPKINS_ALL_FRAMES = {
    'SLBF-MS (2F, 3)': ((0.98, 0.0), (2.64, 0.22)),
    'SSC-N (4K, 3)': ((1.00, 0.0), (2.62, 0.22)),
    'REF': ((2.03, 0.0), (5.08, 2.40)),
}
"""Mean and median with two and with three motions, of methods that use all frames."""

MINIMAL_P = {2: (5.89, 5.19, 4.50, 3.80, 3.11), 3: (9.33, 8.23, 7.13, 6.03, 4.92),
             4: (11.77, 10.38, 8.99, 7.60, 6.21)}
"""Smallest p of Theorem 2: K to the values for d = 8, 7, 6, 5, 4."""
MINIMAL_P_DIMENSIONS = (8, 7, 6, 5, 4)

RAS_CLEAN = {'gdm-paper': 1.22, 'scc-linear': 0.53, 'scc-nonlinear': 5.05, 'mapa-linear': 3.17,
             'mapa-nonlinear': 7.59, 'ssc-linear': 6.27, 'ssc-nonlinear': 7.48,
             'slbf-linear': 0.65, 'slbf-nonlinear': 5.20, 'lrr-linear': 8.47,
             'lrr-nonlinear': 4.02, 'ras': 10.27, 'hosc-2': 4.00, 'hosc-3': 11.33}
"""Mean error in percent on the 13 files of the RAS data without outliers."""

RAS_OUTLIERS = {'gdm-paper': (8.08, None, None), 'gdm-naive': (None, None, None),
                'gdm-known-fraction': (None, None, None),
                'gdm-model-reassign': (3.72, 0.56, 0.01), 'ras-outliers': (13.60, 0.74, 0.08),
                'lrr-outliers': (15.27, 0.49, 0.04), 'hosc-outliers': (19.15, 0.71, 0.06)}
"""Mean error of the inliers in percent, TPR and FPR on the RAS data with outliers."""

RUN_SECONDS = {'gdm-paper': 12.7, 'scc-nonlinear': 2.3, 'mapa-nonlinear': 5.6,
               'ssc-nonlinear': 89.5, 'slbf-nonlinear': 4.0, 'lrr-nonlinear': 0.8}
"""Mean seconds per file on the RAS data; GDM with n1 = 10."""

PROGRESSIVE_X = (
    ('AdelaideRMF', 12.8, 0.63, 1013, 1.6, 1.00, 768),
    ('Hopkins155, every third file', 29.0, 0.19, 1483, 2.6, 0.90, 932),
    ('KT3DMoSeg, every fourth pair', 32.6, 0.05, 2426, 10.3, 0.45, 924),
)
"""Error, share with K right and CPU ms per pair of Progressive-X and of gdm in the same run."""

NAMES = {
    'gdm-paper': 'GDM', 'mapa-nonlinear': 'MAPA', 'scc-nonlinear': 'SCC (d = 7)',
    'slbf-ms': 'SLBF-MS (d = 6)', 'slbf-nonlinear': 'SLBF (d = 6)', 'hosc-2': 'HOSC (d = 2)',
    'hosc-3': 'HOSC (d = 3)', 'ras': 'RAS', 'lrr-nonlinear': 'LRR', 'ssc-nonlinear': 'SSC',
    'ref': 'REF on two frames', 'k-means': 'k-means on positions (control)',
    'gdm-naive': 'GDM Naive',
    'gdm-known-fraction': 'GDM Known-Fraction', 'gdm-model-reassign': 'GDM Model-Reassign',
    'ras-outliers': 'RAS', 'lrr-outliers': 'LRR', 'hosc-outliers': 'HOSC (d = 2)',
    'gdm-paper-literal': 'lowest 15-norm over all sets (the literal reading)',
    'gdm-paper-growth': 'smallest d_ab - max(d_a, d_b)',
    'gdm-paper-axes': 'lowest dimension of the union; each axis scaled to [-1, 1]',
    'gdm-paper-pixels': 'lowest dimension of the union; pixels',
    'gdm-truth': 'started at the true partition',
    'gdm-truth-pixels': 'started at the true partition; pixels',
}
"""Names of the methods on the page."""
