# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Effect of masks on structure from motion: COLMAP on rendered scenes with large movers.

Every sixth frame is reconstructed (SIFT, sequential matching, incremental mapping, known pinhole)
without masks, with the true masks and with ours. The camera's path is aligned with the true one by
a similarity; errors are in percent of the path's length.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
import tempfile
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from rich.console import Console

from gdm_motion_seg.errors import InputError, MissingDependencyError
from gdm_motion_seg.io.folders import write_image
from gdm_motion_seg.io.masks import COLMAP_DILATION
from gdm_motion_seg.masks import motion_mask
from gdm_motion_seg.masks.recording import RecordingMasks
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth.render import RenderedFrame, Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named

SCENES = ('bus', 'leader', 'big2', 'two_movers')
EMPTY_SCENE = 'static_world'
FRAMES, STEP = 170, 6
"""Number of frames of a scene, and the step between reconstructed frames."""
SIZE = 640, 480
NONE, TRUE, OURS = 'none', 'true', 'ours'
FAILED_ATE = 100.0
"""Error of a path if fewer than half of the images were registered."""

FloatArray = npt.NDArray[np.float64]
Image = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Recording:
    """A rendered scene: its key frames, and masks of all kinds for them."""

    frames: list[RenderedFrame]
    masks: dict[str, list[Image]]
    """Masks of each kind, one per key frame; 0 where features are ignored."""


@dataclass(frozen=True)
class Reconstruction:
    """The reconstruction of COLMAP."""

    poses: dict[int, FloatArray]
    """(4, 4) pose of the camera in the model, by key frame."""
    tracks: list[list[tuple[int, FloatArray]]]
    """Observations of each 3D point: key frame and pixel."""


def run(args: argparse.Namespace) -> Report:
    """
    Reconstruct every scene with every kind of mask.

    --seeds is the number of textures, --pairs selects scenes, --methods kinds of masks.
    """
    colmap = _colmap()
    kinds = [k for k in (OURS, NONE, TRUE) if not args.methods or k in args.methods.split(',')]
    if not kinds:
        raise InputError(f'--methods of sfm are {OURS}, {NONE} and {TRUE}, got {args.methods!r}')
    console, rows = Console(stderr=True), []
    names = [n for n in (*SCENES, EMPTY_SCENE) if args.pairs in n]
    if not names:
        raise InputError(f'no scene has {args.pairs!r} in its name; there are '
                         f'{", ".join((*SCENES, EMPTY_SCENE))}')
    for name in names:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            recording, measured = record(name, seed, NodeConfig()), {}
            for kind in kinds:
                # COLMAP is not deterministic: equal masks are not reconstructed again.
                key = np.stack(recording.masks[kind]).tobytes()
                if key not in measured:
                    model = reconstruct(colmap, recording.frames, recording.masks[kind])
                    measured[key] = measure(model, recording.frames)
                row = {'scene': name, 'seed': seed, 'masks': kind, **measured[key]}
                rows.append(row)
                console.print(f'{name} {seed}, masks {kind}: ATE {row["ate"]:.3f} %, '
                              f'{row["registered"]:.0%} registered, '
                              f'{row["mover_points"]:.1%} points on movers', highlight=False)
    return make_report('sfm', summarise(rows), rows)


def record(name: str, seed: int, config: NodeConfig) -> Recording:
    """Render a scene, run the pipeline on all frames and keep every sixth."""
    renderer = Renderer(scene_named(name), SIZE, 30.0, seed)
    pipeline = MotionPipeline(config, config.seed)
    recording = RecordingMasks(config, config.seed)
    frames, ours = [], []
    for i in range(FRAMES):
        frame = renderer.frame(i)
        ours += recording.add(frame.image, pipeline.process(frame.image, frame.stamp))
        if i % STEP == 0:
            frames.append(frame)
    ours += recording.finish()
    instances = {TRUE: [frame.labels.astype(np.int32) for frame in frames], OURS: ours[::STEP],
                 NONE: [np.zeros(SIZE[::-1], np.int32) for _ in frames]}
    return Recording(frames, {
        kind: [motion_mask(image, 0 if kind == NONE else COLMAP_DILATION, moving_is_white=False)
               for image in images] for kind, images in instances.items()})


def reconstruct(colmap: Any, frames: Sequence[RenderedFrame], masks: Sequence[Image]
                ) -> Reconstruction:
    """Run COLMAP on images and masks; returns the largest model."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for part in ('images', 'masks', 'model'):
            (folder / part).mkdir()
        for i, (frame, mask) in enumerate(zip(frames, masks)):
            write_image(folder / 'images' / f'{i:04d}.png', frame.image)
            write_image(folder / 'masks' / f'{i:04d}.png.png', mask)
        matrix = frames[0].camera
        # Pixel centres are at integers here, and at half-integers in COLMAP.
        pinhole = (matrix[0, 0], matrix[1, 1], matrix[0, 2] + 0.5, matrix[1, 2] + 0.5)
        reader = colmap.ImageReaderOptions(
            camera_model='PINHOLE', camera_params=','.join(f'{v:.6f}' for v in pinhole),
            mask_path=str(folder / 'masks'))
        database = folder / 'database.db'
        device = colmap.Device.cpu
        colmap.set_random_seed(0)
        colmap.extract_features(database, folder / 'images', reader_options=reader, device=device,
                                camera_mode=colmap.CameraMode.SINGLE)
        colmap.match_sequential(database, device=device)
        options = colmap.IncrementalPipelineOptions(
            ba_refine_focal_length=False, ba_refine_principal_point=False,
            ba_refine_extra_params=False)
        models = colmap.incremental_mapping(database, folder / 'images', folder / 'model', options)
        if not models:
            return Reconstruction({}, [])
        return _read(max(models.values(), key=lambda model: model.num_reg_images()))


def _read(model: Any) -> Reconstruction:
    poses, numbers = {}, {}
    for image in model.images.values():
        if image.has_pose:
            numbers[image.image_id] = int(image.name.partition('.')[0])
            pose = np.eye(4)
            pose[:3] = image.cam_from_world().inverse().matrix()
            poses[numbers[image.image_id]] = pose
    tracks = []
    for point in model.points3D.values():
        tracks.append([(numbers[e.image_id], np.asarray(
            model.images[e.image_id].points2D[e.point2D_idx].xy, np.float64) - 0.5)
            for e in point.track.elements if e.image_id in numbers])
    return Reconstruction(poses, tracks)


def measure(model: Reconstruction, frames: Sequence[RenderedFrame]) -> Row:
    """Return trajectory and rotation errors and the share of points on movers."""
    registered = len(model.poses) / len(frames)
    row: Row = {'registered': registered, 'mover_points': mover_share(model, frames),
                'points': len(model.tracks), 'ate': FAILED_ATE, 'rotation_deg': 180.0}
    if registered < 0.5:
        return row
    keys = sorted(model.poses)
    found = np.stack([model.poses[k] for k in keys])
    true = np.stack([frames[k].world_from_camera for k in keys])
    path = np.linalg.norm(np.diff(true[:, :3, 3], axis=0), axis=1).sum()
    scale, turn, shift = similarity(found[:, :3, 3], true[:, :3, 3])
    moved = scale * found[:, :3, 3] @ turn.T + shift
    error = np.sqrt(((moved - true[:, :3, 3])**2).sum(axis=1).mean())
    row['ate'] = float(100.0 * error / path)
    between = np.einsum('ij,njk,nlk->nil', turn, found[:, :3, :3], true[:, :3, :3])
    cosine = (np.trace(between, axis1=1, axis2=2) - 1.0) / 2.0
    row['rotation_deg'] = float(np.degrees(np.median(np.arccos(np.clip(cosine, -1.0, 1.0)))))
    return row


def similarity(source: FloatArray, target: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return the scale, rotation and translation of the best alignment (Umeyama, 1991)."""
    a, b = source - source.mean(axis=0), target - target.mean(axis=0)
    u, s, vt = np.linalg.svd(b.T @ a)
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    turn = u @ flip @ vt
    scale = float((s * np.diag(flip)).sum() / max((a**2).sum(), 1e-12))
    return scale, turn, target.mean(axis=0) - scale * turn @ source.mean(axis=0)


def mover_share(model: Reconstruction, frames: Sequence[RenderedFrame]) -> float:
    """Return the share of 3D points of which most observations lie on a mover."""
    if not model.tracks:
        return 0.0
    on = 0
    for track in model.tracks:
        hits = [frames[k].labels[_pixel(xy)] > 0 for k, xy in track]
        on += 2 * sum(hits) > len(hits)
    return float(on / len(model.tracks))


def _pixel(xy: FloatArray) -> tuple[int, int]:
    x, y = np.clip(np.rint(xy), 0, (SIZE[0] - 1, SIZE[1] - 1)).astype(int)
    return int(y), int(x)


def summarise(rows: Sequence[Row]) -> dict[str, Mapping[str, float]]:
    """Return the figures of each kind of mask over all scenes and seeds."""
    summary: dict[str, Mapping[str, float]] = {}
    for kind in (OURS, NONE, TRUE):
        own = [row for row in rows if row['masks'] == kind]
        moving = [row for row in own if row['scene'] != EMPTY_SCENE]
        empty = [row['ate'] for row in own if row['scene'] == EMPTY_SCENE]
        if not own:
            continue
        values: dict[str, float] = {}
        if moving:
            ate = [row['ate'] for row in moving]
            values = {'ate_median': float(np.median(ate)), 'ate_worst': max(ate),
                      'mover_points_worst': max(row['mover_points'] for row in moving),
                      'rotation_deg': float(np.median([r['rotation_deg'] for r in moving])),
                      'registered_worst': min(row['registered'] for row in moving)}
        if empty:
            values['ate_empty'] = float(np.median(empty))
        summary['gdm' if kind == OURS else f'{kind} masks'] = values
    return summary


def _colmap() -> Any:
    try:
        import pycolmap
    except ImportError:
        raise MissingDependencyError(
            "bench sfm needs pycolmap: pip install 'gdm_motion_seg_tools[sfm]'") from None
    cv2.setNumThreads(1)
    pycolmap.logging.minloglevel = 2
    return pycolmap
