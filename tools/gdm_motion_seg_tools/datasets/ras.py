# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A user's copy of the RAS data (Rao et al., IJCV 2010): 13 image pairs, with and without outliers.

The files of the authors are not available any more, so their layout is not known here. This
reader needs a copy in this layout: ``*.mat`` with ``x1`` and ``x2`` (2 x N or 3 x N pixels),
``label`` (0 for outliers, 1.. for motions) and, optionally, the image ``img1``.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.datasets.matfile import field, read_mat
from gdm_motion_seg_tools.datasets.pair import files_in, LabelledPair, make_pair


def read_ras(folder: str | Path) -> Iterator[LabelledPair]:
    """Read every ``*.mat``; without an image its size is the extent of the points."""
    for path in files_in(folder, '*.mat', 'RAS'):
        contents = read_mat(path)
        first, second = field(path, contents, 'x1'), field(path, contents, 'x2')
        for name, points in (('x1', first), ('x2', second)):
            if points.ndim != 2 or points.shape[0] not in (2, 3):
                raise InputError(f'{path} must contain {name} of the shape 2 x N or 3 x N, got '
                                 f'{points.shape}')
        if 'img1' in contents:
            height, width = field(path, contents, 'img1').shape[:2]
        else:
            extent = np.concatenate([first[:2], second[:2]], axis=1).max(axis=1, initial=1.0)
            width, height = int(np.ceil(extent[0])) + 1, int(np.ceil(extent[1])) + 1
        yield make_pair(path.stem, first[:2].T, second[:2].T, (width, height),
                        np.ravel(field(path, contents, 'label')))
