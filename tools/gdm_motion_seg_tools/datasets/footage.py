# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Real footage with ground truth: KT3DMoSeg clips (labelled tracks) and DAVIS-style folders (masks).

A DAVIS-style folder contains ``JPEGImages/<sequence>/*`` and ``Annotations/<sequence>/*.png`` with
255 where the moving object is. Users can add labelled clips as sequences.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray, IntArray
from gdm_motion_seg_tools.datasets.kt3dmoseg import read_clip
from gdm_motion_seg_tools.datasets.pair import files_in

Image = npt.NDArray[np.uint8]

UNKNOWN = -9
"""True label of a keypoint without ground truth."""
KITTI_FPS, DAVIS_FPS = 10.0, 24.0
NEAR_PX, FAR_PX = 6.0, 20.0
"""Distances in pixels to a labelled track: near, or farther with an equal displacement."""
AGREE_PX, AGREE_SHARE = 1.5, 0.05
"""Displacements are equal within this many pixels, or this share of their length."""
BORDER = np.ones((7, 7), np.uint8)
"""Width in pixels of the border of a mask that is excluded."""


@dataclass(frozen=True)
class FootageFrame:
    """One image of a clip."""

    index: int
    stamp: int
    image: Image


class Clip(ABC):
    """Frames with the ground truth of keypoints."""

    def __init__(self, name: str, files: list[Path], fps: float) -> None:
        """Set the name of the clip and its images."""
        self.name, self.files, self.fps = name, files, fps

    def stamp(self, index: int) -> int:
        """Return the time of a frame in nanoseconds."""
        return round((index + 1) / self.fps * 1e9)

    def __iter__(self) -> Iterator[FootageFrame]:
        """Yield the frames."""
        for index, file in enumerate(self.files):
            image = cv2.imread(str(file), cv2.IMREAD_COLOR)
            if image is None:
                raise InputError(f'{file} cannot be read as an image')
            yield FootageFrame(index, self.stamp(index), np.asarray(image, np.uint8))

    @abstractmethod
    def truth(self, older: int, newer: int, pair: Correspondences) -> IntArray:
        """Return the true label of keypoints: 0 world, > 0 a body, UNKNOWN."""


class KittiClip(Clip):
    """A clip with labelled tracks."""

    def __init__(self, path: Path) -> None:
        """Read the tracks; the frames are in ``frames/<clip>``."""
        tracks, seen, labels = read_clip(path)
        # (F, P, 2), (F, P); the world is 0.
        self._tracks = np.transpose(tracks[:2], (2, 1, 0)).astype(float)
        self._seen = seen.T
        self._labels = labels.astype(np.int64) - 1
        files = files_in(path.parent / 'frames' / path.stem, '*.png', 'KT3DMoSeg')
        super().__init__(path.stem, files[:len(self._seen)], KITTI_FPS)

    def body_sizes(self, older: int, newer: int) -> IntArray:
        """Count the labelled tracks of each body in a pair."""
        both = self._seen[older] & self._seen[newer]
        return np.bincount(self._labels[both], minlength=int(self._labels.max()) + 1)

    def truth(self, older: int, newer: int, pair: Correspondences) -> IntArray:
        """Return the label of labelled tracks that are near and have an equal displacement."""
        both = np.flatnonzero(self._seen[older] & self._seen[newer])
        found = np.full(len(pair), UNKNOWN)
        if not len(both) or not len(pair):
            return found
        position, labels = self._tracks[newer][both], self._labels[both]
        moved, flow = position - self._tracks[older][both], pair.x2 - pair.x1
        for i, near in enumerate(cKDTree(position).query_ball_point(pair.x2, FAR_PX)):
            if near:
                found[i] = _label(np.array(near), pair.x2[i], flow[i], position, moved, labels)
        return found


def _label(near: IntArray, x: FloatArray, flow: FloatArray, position: FloatArray,
           moved: FloatArray, labels: IntArray) -> int:
    """Return the label of one keypoint from the tracks around it."""
    distance = np.linalg.norm(position[near] - x, axis=1)
    difference = np.linalg.norm(moved[near] - flow, axis=1)
    close = (distance <= NEAR_PX) & (difference <= NEAR_PX)
    if close.any():
        return int(labels[near[close][(distance + difference)[close].argmin()]])
    alike = labels[near[difference <= max(AGREE_PX, AGREE_SHARE * float(np.linalg.norm(flow)))]]
    return int(alike[0]) if len(alike) and (alike == alike[0]).all() else UNKNOWN


class MaskClip(Clip):
    """A clip with a mask of the moving object for every frame."""

    def __init__(self, images: Path, masks: Path, fps: float = DAVIS_FPS) -> None:
        """Set the images and the masks of one sequence."""
        files = sorted(file for pattern in ('*.jpg', '*.png') for file in images.glob(pattern))
        if not files:
            raise InputError(f'{images} contains no image')
        super().__init__(images.name, files, fps)
        self._masks = masks

    def mask(self, index: int) -> Image:
        """Return the mask of a frame: 1 where the object is."""
        file = self._masks / f'{self.files[index].stem}.png'
        mask = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
        if mask is None:
            raise InputError(f'{file} cannot be read as a mask')
        return np.asarray(mask > 0, np.uint8)

    def truth(self, older: int, newer: int, pair: Correspondences) -> IntArray:
        """Return 1 within the mask, 0 outside, UNKNOWN near its border."""
        mask = self.mask(newer)
        inside, outside = cv2.erode(mask, BORDER) > 0, cv2.dilate(mask, BORDER) == 0
        x, y = np.clip(np.rint(pair.x2).astype(np.int64), 0,
                       (mask.shape[1] - 1, mask.shape[0] - 1)).T
        return np.where(inside[y, x], 1, np.where(outside[y, x], 0, UNKNOWN))


def read_footage(folder: Path) -> list[Clip]:
    """Return the clips of a folder: KT3DMoSeg clips, DAVIS-style sequences, or both."""
    clips: list[Clip] = []
    for place in (folder, *sorted(p for p in folder.glob('*') if p.is_dir())):
        if (place / 'frames').is_dir():
            clips += [KittiClip(path) for path in sorted(place.glob('*.mat'))]
        if (place / 'JPEGImages').is_dir() and (place / 'Annotations').is_dir():
            clips += [MaskClip(images, place / 'Annotations' / images.name)
                      for images in sorted((place / 'JPEGImages').iterdir()) if images.is_dir()]
    if not clips:
        raise InputError(f'{folder} contains no footage: neither KT3DMoSeg clips with frames/ nor '
                         'JPEGImages/ with Annotations/')
    return clips
