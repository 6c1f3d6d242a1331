# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Synthetic correspondences: random rigid bodies in front of a pinhole camera, with ground truth.

A default scene has three motions of equal size and no outliers; each sweep changes one property.
The first motion is the static world seen by the moving camera, the others are bodies that also
move by themselves. Bodies are solid and hide what is behind them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg_tools.datasets.pair import LabelledPair, OUTLIER

IMAGE_SIZE = (640, 480)
FOCAL = 600.0
CAMERA = np.array([[FOCAL, 0.0, 320.0], [0.0, FOCAL, 240.0], [0.0, 0.0, 1.0]])
SCENES = 6
"""Random scenes at each step of a sweep."""
SMALL_SCENES = 30
"""The same for the sweep of small bodies, whose figures are rates."""
BODY_PX = (40.0, 80.0)
"""Extent of a small body."""
NEAR_PX = 40.0
"""Largest distance of a near wrong match from the right position, in pixels."""


@dataclass(frozen=True)
class Scene:
    """Parameters of a scene."""

    n_points: int = 300
    """Number of points with a motion."""
    n_motions: int = 3
    ratio: float = 1.0
    """Size of the largest motion, the static world, over that of the smallest."""
    outliers: float = 0.0
    """Share of wrong matches among all points."""
    noise: float = 0.5
    """Standard deviation in pixels, in both views."""
    planes: int = 0
    """Number of bodies, from the last, whose points lie on a plane."""
    pure_rotation: bool = False
    """Whether the camera only turns: the static world shows no parallax."""
    body_points: int = 0
    """Points of the only body, which spans BODY_PX; the world has ``n_points`` then."""
    near: float = 0.0
    """Share of the wrong matches that lie within NEAR_PX of the right place in the world."""


SWEEPS: dict[str, dict[str, Scene]] = {
    'motions': {f'{k}': Scene(n_motions=k) for k in (2, 3, 4, 5)},
    'ratio': {f'{r}': Scene(ratio=r) for r in (1, 2, 5, 10, 20)},
    'outliers': {f'{o}': Scene(outliers=o / 100) for o in (0, 10, 20, 30, 40, 50, 60)},
    'degenerate': {'none': Scene(), 'plane': Scene(planes=1), 'planes': Scene(planes=2),
                   'rotation': Scene(pure_rotation=True)},
    'small': {f'{n}': Scene(n_points=400, n_motions=2, body_points=n, noise=0.3, outliers=0.05,
                            near=0.5) for n in (8, 12, 20, 40)},
}
"""The sweeps, with the scene of each step."""


def read_synthetic(_folder: Path | None = None, scenes: int = 0) -> Iterator[LabelledPair]:
    """Make every scene of every sweep; the group of a pair is ``sweep=step``. Needs no folder."""
    for sweep, steps in SWEEPS.items():
        for step, scene in steps.items():
            for number in range(scenes or (SMALL_SCENES if scene.body_points else SCENES)):
                # The same number has the same bodies and camera, so a curve shows one change only.
                pair = make_scene(scene, np.random.default_rng(number))
                yield replace(pair, name=f'{sweep}={step}/{number}', group=f'{sweep}={step}')


def make_scene(scene: Scene, rng: np.random.Generator) -> LabelledPair:
    """Make one pair of views of random bodies; equal seeds give equal scenes."""
    streams = rng.spawn(3)  # separate generators for bodies, noise and outliers
    motions = _random_motions(scene, streams[0])
    hidden = _hidden_behind(motions[1:])
    counts = (np.array([scene.n_points, scene.body_points]) if scene.body_points else
              motion_sizes(scene.n_points, scene.n_motions, scene.ratio))
    views, labels, fundamentals = [], [], []
    for k, (motion, count) in enumerate(zip(motions, counts)):
        views.append(motion.project(int(count), streams[0], hidden if k == 0 else None))
        labels.append(np.full(int(count), k))
        fundamentals.append(motion.fundamental())
    clean = np.concatenate(views)
    noisy = clean + scene.noise * streams[1].standard_normal(clean.shape)
    n_wrong = round(len(clean) * scene.outliers / (1.0 - scene.outliers))
    wrong = _wrong_matches(n_wrong, scene, motions[0], hidden, streams[2])
    points = np.concatenate([noisy, wrong])
    truth = np.concatenate([*labels, np.full(n_wrong, OUTLIER)]).astype(np.int64)
    exact = np.concatenate([clean, wrong])
    return LabelledPair('scene', np.ascontiguousarray(points[:, :2]),
                        np.ascontiguousarray(points[:, 2:]), IMAGE_SIZE, truth, background=0,
                        fundamentals=np.array(fundamentals), clean=(exact[:, :2], exact[:, 2:]))


def near_outliers(pair: LabelledPair) -> npt.NDArray[np.bool_]:
    """Return which wrong matches of a scene are near the right position: the last ones."""
    wrong = np.flatnonzero(pair.truth == OUTLIER)
    near = np.zeros(len(pair), bool)
    near[wrong[len(wrong) - len(wrong) // 2:]] = True
    return near


def _wrong_matches(count: int, scene: Scene, world: '_RigidMotion',
                   hidden: npt.NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """Draw wrong matches (count, 4): first those anywhere, then those near the right position."""
    n_near = int(scene.near * count)
    wrong = rng.uniform(size=(count - n_near, 4)) * np.tile(IMAGE_SIZE, 2)
    if n_near == 0:
        return np.asarray(wrong)
    near = world.project(n_near, rng, hidden)
    angle = rng.uniform(0.0, 2.0 * np.pi, n_near)
    radius = NEAR_PX * np.sqrt(rng.uniform(size=n_near))
    near[:, 2:] += radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([wrong, near])


def motion_sizes(n_points: int, n_motions: int, ratio: float) -> np.ndarray:
    """Divide the points in a geometric series from largest to smallest."""
    shares = np.geomspace(ratio, 1.0, n_motions)
    counts = np.floor(n_points * shares / shares.sum()).astype(np.int64)
    counts[0] += n_points - counts.sum()
    return np.asarray(counts)


@dataclass(frozen=True)
class _RigidMotion:
    """X' = R X + t of the points around a centre, in the camera's frame."""

    rotation: FloatArray
    translation: FloatArray
    centre: FloatArray
    half_size: FloatArray
    """Half the extent of the body along its axes."""
    axes: FloatArray
    determines_f: bool

    def project(self, count: int, rng: np.random.Generator,
                hidden: npt.NDArray[np.bool_] | None = None) -> FloatArray:
        """Draw points of the body that both views see, (count, 4) pixels; hidden is (2, H, W)."""
        kept = np.empty((0, 4))
        while len(kept) < count:
            body = rng.uniform(-1.0, 1.0, (4 * count, 3)) * self.half_size
            pixels, ahead = self.view(body)
            inside = (pixels > 0).all(axis=1) & (pixels < np.tile(IMAGE_SIZE, 2)).all(axis=1)
            pixels = pixels[inside & ahead]
            if hidden is not None:
                x1, y1, x2, y2 = pixels.astype(np.int64).T
                pixels = pixels[~(hidden[0, y1, x1] | hidden[1, y2, x2])]
            kept = np.vstack([kept, pixels])
        return kept[:count]

    def view(self, body: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the pixels of points of the body in both views, and whether they lie ahead."""
        first = self.centre + body @ self.axes.T
        second = first @ self.rotation.T + self.translation
        ahead = (first[:, 2] > 0.5) & (second[:, 2] > 0.5)
        return np.hstack([_pixels(first), _pixels(second)]), ahead

    def fundamental(self) -> FloatArray:
        """Return K^-T [t]x R K^-1; NaN where the points do not determine it."""
        if not self.determines_f:
            return np.full((3, 3), np.nan)
        inverse = np.linalg.inv(CAMERA)
        f = inverse.T @ _cross(self.translation) @ self.rotation @ inverse
        return np.asarray(f / np.linalg.norm(f))


def _random_motions(scene: Scene, rng: np.random.Generator) -> list[_RigidMotion]:
    turn = _rotation(_direction(rng), np.radians(rng.uniform(1.0, 3.0)))
    shift = np.zeros(3) if scene.pure_rotation else 0.5 * _direction(rng)
    world = _RigidMotion(turn, shift, np.array([0.0, 0.0, 9.0]), np.array([6.0, 4.5, 4.0]),
                         np.eye(3), not scene.pure_rotation)
    motions = [world]
    n_bodies = scene.n_motions - 1
    # Bodies are in different parts of the image.
    angles = rng.uniform(0.0, 2.0 * np.pi) + 2.0 * np.pi * np.arange(n_bodies) / max(n_bodies, 1)
    for number, angle in enumerate(angles):
        depth = rng.uniform(3.5, 5.5)
        centre = depth * np.array([0.27 * np.cos(angle), 0.2 * np.sin(angle), 1.0])
        own_turn = _rotation(_direction(rng), np.radians(rng.uniform(4.0, 12.0)))
        own_shift = rng.uniform(0.2, 0.4) * _direction(rng)
        flat = n_bodies - number <= scene.planes
        size = depth * rng.uniform(0.1, 0.15, 3) * np.array([1.0, 1.0, 0.0 if flat else 1.0])
        if scene.body_points:
            size = np.full(3, 0.5 * depth * rng.uniform(*BODY_PX) / FOCAL)
        rotation = turn @ own_turn
        translation = turn @ (centre - own_turn @ centre + own_shift) + shift
        axes = _rotation(_direction(rng), rng.uniform(0.0, 0.8))
        motions.append(_RigidMotion(rotation, translation, centre, size, axes, not flat))
    return motions


def _hidden_behind(bodies: list[_RigidMotion]) -> npt.NDArray[np.bool_]:
    """Return the pixels at which bodies hide the world in both views, (2, H, W)."""
    hidden = np.zeros((2, IMAGE_SIZE[1], IMAGE_SIZE[0]), np.uint8)
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    for body in bodies:
        pixels, _ = body.view(corners * body.half_size)
        for view in range(2):
            outline = cv2.convexHull(pixels[:, 2 * view:2 * view + 2].astype(np.int32))
            cv2.fillConvexPoly(hidden[view], outline, 1)
    return hidden.astype(bool)


def _pixels(points: FloatArray) -> FloatArray:
    depth = np.where(np.abs(points[:, 2:]) > 1e-6, points[:, 2:], 1e-6)
    return np.asarray(FOCAL * points[:, :2] / depth + CAMERA[:2, 2])


def _direction(rng: np.random.Generator) -> FloatArray:
    vector = rng.standard_normal(3)
    return np.asarray(vector / np.linalg.norm(vector))


def _rotation(axis: FloatArray, angle: float) -> FloatArray:
    k = _cross(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k)


def _cross(v: FloatArray) -> FloatArray:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
