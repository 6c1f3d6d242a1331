# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""AdelaideRMF (Wong et al., ICCV 2011): 19 image pairs, 27 to 73 % of the matches wrong."""

from collections.abc import Iterator
from pathlib import Path

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.datasets.matfile import field, read_mat
from gdm_motion_seg_tools.datasets.pair import files_in, LabelledPair, make_pair


def read_adelaide(folder: str | Path) -> Iterator[LabelledPair]:
    """Read every ``*.mat``; the size of the image is that of ``img1``."""
    for path in files_in(folder, '*.mat', 'AdelaideRMF'):
        contents = read_mat(path)
        data = field(path, contents, 'data')
        if data.ndim != 2 or data.shape[0] != 6:
            raise InputError(f'{path} must contain data of the shape 6 x N, got {data.shape}')
        image = field(path, contents, 'img1')
        if image.ndim < 2:
            raise InputError(f'{path} must contain an image in img1, got the shape {image.shape}')
        yield make_pair(path.stem, data[:2].T, data[3:5].T, (image.shape[1], image.shape[0]),
                        field(path, contents, 'label'))
