# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
KT3DMoSeg (Xu et al., CVPR 2018): 11 clips of KITTI with labelled tracks that come and go.

The static world is label 1 in every clip. It always covers the largest part of the image, but does
not always have the most points: in Seq095_Clip01 a lorry that fills a third of the image has more.
"""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg_tools.datasets.matfile import field, read_mat
from gdm_motion_seg_tools.datasets.pair import files_in, LabelledPair, make_pair

BACKGROUND = 1
FRAME_GAP = 4
"""Gap of a pair in frames: between adjacent frames one F explains nearly every point."""


def read_kt3dmoseg(folder: str | Path, gap: int = FRAME_GAP) -> Iterator[LabelledPair]:
    """Read every pair of frames that are `gap` apart; the group of a pair is its clip."""
    for path in files_in(folder, '*.mat', 'KT3DMoSeg'):
        tracks, seen, labels = read_clip(path)
        size = frame_size(path.parent / 'frames' / path.stem)
        for first in range(seen.shape[1] - gap):
            both = np.flatnonzero(seen[:, first] & seen[:, first + gap])
            yield make_pair(f'{path.stem}/{first:03d}', tracks[:2, both, first].T,
                            tracks[:2, both, first + gap].T, size, labels[both], path.stem,
                            BACKGROUND)


def read_clip(path: Path) -> tuple[FloatArray, npt.NDArray[np.bool_], FloatArray]:
    """Return the tracks (3, P, F), their visibility (P, F) and their labels (P,)."""
    clip = read_mat(path).get('Data')
    if clip is None:
        raise InputError(f"{path} has no field 'Data'")
    tracks = field(path, clip, 'ySparse')
    seen = field(path, clip, 'visibleSparse').astype(bool)
    labels = field(path, clip, 'GtLabel').ravel()
    if tracks.ndim != 3 or seen.shape != tracks.shape[1:] or labels.shape != seen.shape[:1]:
        raise InputError(f'{path} has inconsistent shapes: ySparse {tracks.shape}, '
                         f'visibleSparse {seen.shape}, GtLabel {labels.shape}')
    return tracks, seen, labels


def frame_size(folder: Path) -> tuple[int, int]:
    """Return width and height of the first frame of a clip."""
    frame = files_in(folder, '*.png', 'KT3DMoSeg')[0]
    image = cv2.imread(str(frame), cv2.IMREAD_GRAYSCALE)
    if image is None:
        raise InputError(f'{frame} cannot be read as an image')
    return image.shape[1], image.shape[0]
