# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Ground truth of a rendered scene: labels of points, motions of bodies, fundamental matrices.

On disk it is a folder ``truth/`` inside the bag's folder: ``truth.json`` (camera, bodies, poses,
and for every pair of frames at a gap the motion of each body) and ``labels/000000.png`` … (one
label image per frame).
"""

from collections.abc import Iterable
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.synth.bodies import FloatArray
from gdm_motion_seg_tools.synth.render import border_mask, RenderedFrame
from gdm_motion_seg_tools.synth.scenes import Scene
from gdm_motion_seg_tools.synth.texture import Image

UNSCORED = -2
"""Label of a point without ground truth: near a border, or on a body that hardly moved."""
STILL_PX = 0.5
"""A body whose corners move less than this relative to the world, in pixels, belongs to it."""
MOVING_PX = 3.0
"""A body whose corners move more has its own motion; between the two it is undecided."""
FOLDER = 'truth'
"""Name of the folder with the ground truth inside of a bag."""


@dataclass(frozen=True)
class BodyMotion:
    """The motion of a body between two frames, in camera axes: newer = R older + t."""

    label: int
    rotation: FloatArray
    translation: FloatArray
    """Translation in metres."""
    fundamental: FloatArray
    """(3, 3), x2^T F x1 = 0 in pixels, unit Frobenius norm; NaN without a translation."""
    displacement: float
    """Largest difference to the motion of the static world over the body's corners, in pixels."""

    @property
    def is_mover(self) -> bool:
        """Whether it certainly moved on its own."""
        return self.displacement > MOVING_PX

    @property
    def is_still(self) -> bool:
        """Whether it moved with the static world."""
        return self.displacement < STILL_PX


@dataclass(frozen=True)
class FramePoses:
    """Poses at one frame."""

    stamp: int
    camera: FloatArray
    """(3, 3) camera matrix; it changes with the zoom."""
    world_from_camera: FloatArray
    world_from_body: FloatArray


class Truth:
    """The ground truth of a sequence of frames."""

    def __init__(self, scene_name: str, camera: FloatArray, names: list[str],
                 extents: list[FloatArray]) -> None:
        """Begin without frames; ``extents`` has the 8 corners of the box of each label."""
        self.scene_name, self.camera, self.names, self.extents = scene_name, camera, names, extents
        self.frames: list[FramePoses] = []
        self._labels: list[Image | Path] = []
        self._index: dict[int, int] = {}

    @classmethod
    def of_scene(cls, scene: Scene, camera: FloatArray,
                 frames: Iterable[RenderedFrame] = ()) -> 'Truth':
        """Return the ground truth of some frames of a scene."""
        extents = [np.zeros((0, 3)), *(_box_corners(body.corners()) for body in scene.movers)]
        truth = cls(scene.name, camera, ['static world', *(b.name for b in scene.movers)], extents)
        for frame in frames:
            truth.add(frame)
        return truth

    def add(self, frame: RenderedFrame, labels_file: Path | None = None) -> None:
        """Add a frame; with ``labels_file`` its label image is written there and not kept."""
        if labels_file is not None:
            labels_file.parent.mkdir(parents=True, exist_ok=True)
            if not cv2.imwrite(str(labels_file), frame.labels):
                raise InputError(f'{labels_file} could not be written')
        self._append(FramePoses(frame.stamp, frame.camera, frame.world_from_camera,
                                frame.world_from_body),
                     frame.labels if labels_file is None else labels_file)

    def _append(self, poses: FramePoses, labels: Image | Path) -> None:
        self._index[poses.stamp] = len(self.frames)
        self.frames.append(poses)
        self._labels.append(labels)

    def index_of(self, stamp: int) -> int:
        """Return the number of the frame with a stamp."""
        try:
            return self._index[stamp]
        except KeyError:
            raise InputError(f'the truth of {self.scene_name} has no frame with stamp {stamp}'
                             ) from None

    def forget_labels(self, stamp: int) -> None:
        """Free the label image of a frame; its poses are kept."""
        self._labels[self.index_of(stamp)] = np.zeros((0, 0), np.uint8)

    def labels(self, stamp: int) -> Image:
        """Return the label image of the frame with a stamp."""
        labels = self._labels[self.index_of(stamp)]
        if isinstance(labels, Path):
            image = cv2.imread(str(labels), cv2.IMREAD_GRAYSCALE)
            if image is None:
                raise InputError(f'{labels} is not a readable label image')
            return np.asarray(image, np.uint8)
        return labels

    def motion(self, older_stamp: int, newer_stamp: int, label: int) -> BodyMotion:
        """Return the motion of a body between two frames."""
        older, newer = (self.frames[self.index_of(s)] for s in (older_stamp, newer_stamp))
        own = _relative(older, newer, label)
        displacement = 0.0
        if label:
            body = older.world_from_body[label]
            camera_from_body = np.linalg.inv(older.world_from_camera) @ body
            corners = self.extents[label] @ camera_from_body[:3, :3].T + camera_from_body[:3, 3]
            with_world = _relative(older, newer, 0)
            displacement = float(np.abs(_project(own, corners, newer.camera)
                                        - _project(with_world, corners, newer.camera)).max())
        fundamental = _fundamental(own, older.camera, newer.camera)
        return BodyMotion(label, own[:3, :3], own[:3, 3], fundamental, displacement)

    def point_labels(self, older_stamp: int, newer_stamp: int, points: npt.ArrayLike
                     ) -> npt.NDArray[np.int64]:
        """
        Return the true label of points (N, 2) in the newer frame of a pair.

        A body that stood still between the two frames belongs to the static world, label 0.
        """
        labels = self.labels(newer_stamp)
        meaning = np.zeros(256, np.int64)
        for label in range(1, len(self.names)):
            motion = self.motion(older_stamp, newer_stamp, label)
            meaning[label] = (label if motion.is_mover else 0 if motion.is_still else UNSCORED)
        true = meaning[labels]
        true[border_mask(labels)] = UNSCORED
        uv = np.rint(np.asarray(points, np.float64).reshape(-1, 2)).astype(np.int64)
        height, width = labels.shape
        inside = (uv >= 0).all(axis=1) & (uv[:, 0] < width) & (uv[:, 1] < height)
        found = np.full(len(uv), UNSCORED, np.int64)
        found[inside] = true[uv[inside, 1], uv[inside, 0]]
        return found

    def save(self, folder: Path, gap: int = 5) -> None:
        """Write ``truth.json``, with the motions of all pairs at a gap."""
        pairs = [self._pair(i, i + gap) for i in range(len(self.frames) - gap)]
        document = {
            'scene': self.scene_name, 'camera': self.camera.tolist(),
            'bodies': [{'label': i, 'name': name, 'corners': extent.tolist()}
                       for i, (name, extent) in enumerate(zip(self.names, self.extents))],
            'frames': [{'stamp': f.stamp, 'labels': f'labels/{i:06d}.png',
                        'camera': f.camera.tolist(),
                        'world_from_camera': f.world_from_camera.tolist(),
                        'world_from_body': f.world_from_body.tolist()}
                       for i, f in enumerate(self.frames)],
            'gap': gap, 'pairs': pairs}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'truth.json').write_text(json.dumps(document), encoding='utf-8')

    def _pair(self, older: int, newer: int) -> dict[str, Any]:
        stamps = self.frames[older].stamp, self.frames[newer].stamp
        motions = [self.motion(*stamps, label) for label in range(len(self.names))]
        return {'older': older, 'newer': newer, 'motions': [
            {'label': m.label, 'rotation': m.rotation.tolist(),
             'translation': m.translation.tolist(),
             'fundamental': (m.fundamental.tolist() if np.isfinite(m.fundamental).all() else None),
             'displacement_px': m.displacement} for m in motions]}

    @classmethod
    def load(cls, folder: Path) -> 'Truth':
        """Read what :meth:`save` wrote; ``folder`` is that of the ground truth or of the bag."""
        if (folder / FOLDER).is_dir():
            folder = folder / FOLDER
        try:
            document = json.loads((folder / 'truth.json').read_text(encoding='utf-8'))
            truth = cls(document['scene'], np.array(document['camera']),
                        [b['name'] for b in document['bodies']],
                        [np.array(b['corners']).reshape(-1, 3) for b in document['bodies']])
            for frame in document['frames']:
                poses = FramePoses(int(frame['stamp']),
                                   np.array(frame.get('camera', document['camera'])),
                                   np.array(frame['world_from_camera']),
                                   np.array(frame['world_from_body']))
                truth._append(poses, folder / frame['labels'])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f'{folder} contains no readable truth of a rendered scene ({error})'
                             ) from None
        return truth


def _box_corners(points: FloatArray) -> FloatArray:
    low, high = points.min(axis=0), points.max(axis=0)
    pick = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], np.bool_)
    return np.asarray(np.where(pick, high, low))


def _relative(older: FramePoses, newer: FramePoses, label: int) -> FloatArray:
    """Return the 4 x 4 motion of a body in camera axes, from the older to the newer frame."""
    then = np.linalg.inv(older.world_from_camera) @ older.world_from_body[label]
    now = np.linalg.inv(newer.world_from_camera) @ newer.world_from_body[label]
    return np.asarray(now @ np.linalg.inv(then))


def _project(motion: FloatArray, points: FloatArray, camera: FloatArray) -> FloatArray:
    moved = (points @ motion[:3, :3].T + motion[:3, 3]) @ camera.T
    return np.asarray(moved[:, :2] / np.maximum(moved[:, 2:], 0.1))


def _fundamental(motion: FloatArray, older: FloatArray, newer: FloatArray) -> FloatArray:
    """F = K2^-T [t]x R K1^-1."""
    x, y, z = motion[:3, 3]
    if np.linalg.norm(motion[:3, 3]) < 1e-6:
        return np.full((3, 3), np.nan)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    f = np.linalg.inv(newer).T @ cross @ motion[:3, :3] @ np.linalg.inv(older)
    return np.asarray(f / np.linalg.norm(f))
