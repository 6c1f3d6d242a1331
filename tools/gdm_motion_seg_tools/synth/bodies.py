# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Solids made of textured quadrilaterals, and the paths on which they move.

Axes are those of a camera: x to the right, y down, z forward; metres and radians. A quadrilateral
is the set ``origin + s * e_u + t * e_v`` with s and t in [0, 1].
"""

from dataclasses import dataclass, replace
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Quads:
    """Quadrilaterals of one solid in its own frame."""

    origin: FloatArray
    """(Q, 3) first corner."""
    e_u: FloatArray
    """(Q, 3) edge along the texture's rows."""
    e_v: FloatArray
    """(Q, 3) edge along the texture's columns."""
    seam: FloatArray
    """(Q,) start of a quadrilateral on its strip of texture, in metres."""
    strip: npt.NDArray[np.int64]
    """(Q,) index of the strip of texture; quadrilaterals of a strip are side by side."""
    disc: npt.NDArray[np.bool_]
    """(Q,) whether only the ellipse inside the quadrilateral is drawn (the lid of a cylinder)."""


def plane(width: float, height: float) -> Quads:
    """Build a rectangle about the origin, facing the camera (its normal is -z)."""
    return _quads([((-width / 2, -height / 2, 0.0), (width, 0.0, 0.0), (0.0, height, 0.0))])


def box(width: float, height: float, depth: float) -> Quads:
    """Build a box about the origin."""
    x, y, z = width / 2, height / 2, depth / 2
    return _quads([
        ((-x, -y, -z), (width, 0, 0), (0, height, 0)),
        ((x, -y, z), (-width, 0, 0), (0, height, 0)),
        ((-x, -y, z), (0, 0, -depth), (0, height, 0)),
        ((x, -y, -z), (0, 0, depth), (0, height, 0)),
        ((-x, -y, z), (width, 0, 0), (0, 0, -depth)), ((-x, y, -z), (width, 0, 0), (0, 0, depth))])


def cylinder(radius: float, height: float, sides: int = 20) -> Quads:
    """Build an upright cylinder about the origin, with lids."""
    angles = np.arange(sides + 1) * (2 * np.pi / sides)
    ring = np.column_stack((radius * np.cos(angles), np.full(sides + 1, -height / 2),
                            radius * np.sin(angles)))
    edge = 2 * radius * np.sin(np.pi / sides)
    mantle = Quads(ring[:-1], np.diff(ring, axis=0), np.tile((0.0, height, 0.0), (sides, 1)),
                   np.arange(sides) * edge, np.zeros(sides, np.int64), np.zeros(sides, np.bool_))
    r = radius
    lids = _quads([((-r, y, -r), (2 * r, 0, 0), (0, 0, 2 * r)) for y in (-height / 2, height / 2)])
    return join(mantle, replace(lids, disc=np.ones(2, np.bool_)))


def join(*parts: Quads) -> Quads:
    """Join several solids in the same frame."""
    strips, shift = [], 0
    for part in parts:
        strips.append(part.strip + shift)
        shift += int(part.strip.max()) + 1
    return Quads(np.concatenate([p.origin for p in parts]), np.concatenate([p.e_u for p in parts]),
                 np.concatenate([p.e_v for p in parts]), np.concatenate([p.seam for p in parts]),
                 np.concatenate(strips), np.concatenate([p.disc for p in parts]))


def placed(quads: Quads, position: Vector, turn: Vector = (0.0, 0.0, 0.0)) -> Quads:
    """Move a solid within its frame; ``turn`` is a rotation vector."""
    r = rotation(turn)
    return replace(quads, origin=quads.origin @ r.T + np.asarray(position), e_u=quads.e_u @ r.T,
                   e_v=quads.e_v @ r.T)


def _quads(faces: list[tuple[Vector, Vector, Vector]]) -> Quads:
    array = np.array(faces, np.float64)
    n = len(array)
    return Quads(array[:, 0], array[:, 1], array[:, 2], np.zeros(n), np.arange(n),
                 np.zeros(n, np.bool_))


def rotation(vector: npt.ArrayLike) -> FloatArray:
    """Return the matrix of a rotation vector."""
    return np.asarray(cv2.Rodrigues(np.asarray(vector, np.float64))[0], np.float64)


def pose(turn: FloatArray, position: npt.ArrayLike) -> FloatArray:
    """Build the 4 x 4 matrix of a rotation matrix and a position."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, position
    return matrix


class Path(Protocol):
    """The pose of a solid or of the camera as a function of time."""

    def at(self, seconds: float) -> FloatArray:
        """Return the 4 x 4 matrix from the frame of the solid to the world."""


@dataclass(frozen=True)
class Still:
    """A constant pose."""

    position: Vector = (0.0, 0.0, 0.0)
    turn: Vector = (0.0, 0.0, 0.0)

    def at(self, seconds: float) -> FloatArray:
        """Return the pose."""
        return pose(rotation(self.turn), self.position)


@dataclass(frozen=True)
class Orbit:
    """
    Periodic motion on an ellipse, with a constant rotation or an oscillation.

    A body on an ellipse never stands still: it moves in every pair of frames.
    """

    centre: Vector
    cosine: Vector = (0.0, 0.0, 0.0)
    """Half axis that is reached at phase 0."""
    sine: Vector = (0.0, 0.0, 0.0)
    """Half axis that is reached a quarter of a period later."""
    period: float = 6.0
    phase: float = 0.0
    turn: Vector = (0.0, 0.0, 0.0)
    """Rotation vector at the start."""
    spin: Vector = (0.0, 0.0, 0.0)
    """Angular velocity in radians per second, constant."""
    swing_cosine: Vector = (0.0, 0.0, 0.0)
    """Amplitude of the oscillation in phase with the cosine, as a rotation vector."""
    swing_sine: Vector = (0.0, 0.0, 0.0)
    """Amplitude of the oscillation in phase with the sine, as a rotation vector."""

    def at(self, seconds: float) -> FloatArray:
        """Return the pose at a time."""
        angle = 2 * np.pi * seconds / self.period + self.phase
        c, s = np.cos(angle), np.sin(angle)
        along = c * np.asarray(self.cosine) + s * np.asarray(self.sine)
        swing = c * np.asarray(self.swing_cosine) + s * np.asarray(self.swing_sine)
        spin = np.asarray(self.spin) * seconds
        turn = rotation(spin) @ rotation(swing) @ rotation(self.turn)
        return pose(turn, np.asarray(self.centre) + along)


@dataclass(frozen=True)
class Waypoints:
    """A path through positions at given times; it rests between two equal positions."""

    times: tuple[float, ...]
    positions: tuple[Vector, ...]
    turns: tuple[Vector, ...]

    def at(self, seconds: float) -> FloatArray:
        """Return the pose at a time; before and after the path it is constant."""
        position = [np.interp(seconds, self.times, axis) for axis in np.transpose(self.positions)]
        turn = [np.interp(seconds, self.times, axis) for axis in np.transpose(self.turns)]
        return pose(rotation(turn), position)


@dataclass(frozen=True)
class Body:
    """A solid with a name, a path and a texture."""

    name: str
    quads: Quads
    path: Path
    palette: str
    texels_per_metre: float = 220.0
    contrast: float = 1.0
    """Contrast of its texture."""

    def corners(self) -> FloatArray:
        """Return the (4 Q, 3) corners in the body's own frame."""
        q = self.quads
        return np.concatenate((q.origin, q.origin + q.e_u, q.origin + q.e_v,
                               q.origin + q.e_u + q.e_v))
