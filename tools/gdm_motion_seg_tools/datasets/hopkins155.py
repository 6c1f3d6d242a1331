# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Hopkins155 (Tron, Vidal, CVPR 2007): 120 sequences with two motions, 35 with three.

A pair consists of the first and the last frame, as in the paper. There are no outliers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.datasets.matfile import field, number, read_mat
from gdm_motion_seg_tools.datasets.pair import files_in, LabelledPair, make_pair

CATEGORIES = ('checkerboard', 'traffic', 'articulated')


def read_hopkins155(folder: str | Path) -> Iterator[LabelledPair]:
    """Read every ``*_truth.mat``; the group of a pair is its category."""
    for path in files_in(folder, '*_truth.mat', 'Hopkins155'):
        contents = read_mat(path)
        tracks = field(path, contents, 'y')
        if tracks.ndim != 3 or tracks.shape[0] != 3 or tracks.shape[2] < 2:
            raise InputError(f'{path} must contain y of the shape 3 x P x F, got {tracks.shape}')
        name = path.name.removesuffix('_truth.mat')
        size = number(path, contents, 'width'), number(path, contents, 'height')
        yield make_pair(name, tracks[:2, :, 0].T, tracks[:2, :, -1].T, size,
                        np.ravel(field(path, contents, 's')), category(name))


def category(name: str) -> str:
    """Return the category of a sequence, from its name."""
    if name[0].isdigit() or name.startswith('three-cars'):
        return 'checkerboard'
    if name.startswith(('cars', 'truck', 'kanatani1', 'kanatani2')):
        return 'traffic'
    return 'articulated'
