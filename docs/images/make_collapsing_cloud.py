# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Make the figure of the collapsing cloud: ``python docs/images/make_collapsing_cloud.py``.

The paper's figure of the empirical dimension: a Gaussian cloud in R^3 is flattened into a plane,
and the plane into a line, while the estimate is watched for several epsilon.
"""

from pathlib import Path

import numpy as np

from gdm_motion_seg.gdm import empirical_dimension

EPSILONS = (0.05, 0.2, 0.35, 0.5, 0.7, 1.0)
N_POINTS = 20_000
N_STEPS = 61


def collapse(n_points=N_POINTS, n_steps=N_STEPS):
    """Return the extents of the collapsing direction and, for each epsilon, the whole curve."""
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(n_points, 3))
    extents = np.linspace(1.0, 0.0, n_steps)
    to_plane = [cloud * [1.0, 1.0, extent] for extent in extents]
    to_line = [cloud * [1.0, extent, 0.0] for extent in extents]
    curves = {epsilon: np.array([empirical_dimension(points, epsilon)
                                 for points in to_plane + to_line]) for epsilon in EPSILONS}
    return extents, curves


def draw(path):
    """Draw the curves."""
    from matplotlib.figure import Figure
    extents, curves = collapse()
    progress = np.concatenate([1.0 - extents, 2.0 - extents])
    figure = Figure(figsize=(7.2, 3.8), layout='constrained')
    axes = figure.add_subplot(xlabel='collapse of the cloud', ylabel='empirical dimension')
    true = np.concatenate([np.where(extents > 0, 3, 2), np.where(extents > 0, 2, 1)])
    axes.step(progress, true, where='post', color='0.7', lw=2.5, label='true dimension')
    for number, (epsilon, values) in enumerate(curves.items()):
        shade = 0.75 * number / (len(curves) - 1)
        axes.plot(progress, values, color=(shade, 0.25, 0.8 - shade),
                  label=f'$\\epsilon$ = {epsilon:g}')
    axes.set_xticks([0, 1, 2], ['ball', 'plane', 'line'])
    axes.set_ylim(0.9, 3.1)
    axes.spines[['top', 'right']].set_visible(False)
    axes.legend(frameon=False, fontsize='small')
    figure.savefig(path, dpi=110)


if __name__ == '__main__':
    draw(Path(__file__).with_name('collapsing_cloud.png'))
