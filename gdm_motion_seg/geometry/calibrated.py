# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The calibrated form of a motion: x2 ~ K (R X + t) for points X in the first camera's frame.

Points at infinity are ordinary here: they triangulate to homogeneous points with last entry 0 and
have no say about the sign of t.
"""

from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry import _epipolar
from gdm_motion_seg.geometry._linalg import (
    cross_matrix, inverse_camera, matmul3, median, rotation_exp, svd3)
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.fundamental import checked_points, checked_weights, unit_norm


@dataclass(frozen=True)
class Pose:
    """Relative pose of the camera with respect to one motion."""

    rotation: FloatArray
    """(3, 3) R."""
    translation: FloatArray
    """(3,) direction of t, of unit length."""
    share_in_front: float
    """Share of the cheirality vote that the winner got, in [0, 1]; 0.25 means that nobody knew."""
    parallax: float
    """Median angle between the rays of a point once the rotation is undone, in radians."""


def essential_from_fundamental(fundamental: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """
    Essential matrix K^T F K, made essential.

    Parameters
    ----------
    fundamental : (3, 3) array
        Epipolar geometry in pixels.
    camera_matrix : (3, 3) array
        K of both views.

    Returns
    -------
    (3, 3) array
        Nearest matrix with two equal singular values and a zero, of unit Frobenius norm.

    """
    u, _, v = svd3(np.ascontiguousarray(camera_matrix.T @ fundamental @ camera_matrix))
    return u @ np.diag([1.0, 1.0, 0.0]) @ v.T / np.sqrt(2.0)


def fundamental_from_pose(rotation: FloatArray, translation: FloatArray,
                          camera_matrix: FloatArray) -> FloatArray:
    """
    Fundamental matrix K^-T [t]x R K^-1 of a pose.

    Parameters
    ----------
    rotation : (3, 3) array
        R.
    translation : (3,) array
        t, at any scale.
    camera_matrix : (3, 3) array
        K of both views.

    Returns
    -------
    (3, 3) array
        Unit Frobenius norm (all zero if t is).

    """
    inverse = np.linalg.inv(camera_matrix)
    cross = cross_matrix(np.asarray(translation, np.float64))
    return unit_norm(inverse.T @ cross @ rotation @ inverse)


def decompose_essential(essential: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Two rotations and the direction of translation of an essential matrix.

    Parameters
    ----------
    essential : (3, 3) array
        At any scale.

    Returns
    -------
    r1, r2 : (3, 3) arrays
    t : (3,) array
        The four poses are (r1, t), (r1, -t), (r2, t) and (r2, -t).

    """
    return _decompose(np.ascontiguousarray(essential, np.float64))


def recover_pose(fundamental: FloatArray, x1: FloatArray, x2: FloatArray,
                 camera_matrix: FloatArray, loss_px: float = 1.0, refine: bool = True) -> Pose:
    """
    Pose of a motion: decomposition, cheirality vote, refinement on the Sampson distance.

    Parameters
    ----------
    fundamental : (3, 3) array
        Epipolar geometry in pixels.
    x1, x2 : (N, 2) arrays
        Pixels of the motion's points.
    camera_matrix : (3, 3) array
        K of both views.
    loss_px : float
        Scale of the Cauchy loss of the refinement, and the parallax below which a point has only
        a small say about the sign of t.
    refine : bool
        Whether to minimise the Sampson distances over the five degrees of freedom of (R, t).

    Returns
    -------
    Pose

    """
    a1, a2 = checked_points(x1, x2)
    k = np.ascontiguousarray(camera_matrix, np.float64)
    f = np.ascontiguousarray(fundamental, np.float64)
    return Pose(*_recover(f, a1, a2, np.ones(len(a1)), k, loss_px, 15 if refine else 0))


def refine_pose(rotation: FloatArray, translation: FloatArray, x1: FloatArray, x2: FloatArray,
                camera_matrix: FloatArray, weights: FloatArray | None = None,
                loss_px: float = 0.0, iterations: int = 50,
                tolerance: float = 1e-9) -> tuple[FloatArray, FloatArray]:
    """
    Minimise the (robust) sum of squared Sampson distances over (R, t).

    Parameters
    ----------
    rotation : (3, 3) array
        R.
    translation : (3,) array
        Where to start.
    x1, x2 : (N, 2) arrays
        Pixels, N >= 5.
    camera_matrix : (3, 3) array
        K of both views.
    weights : (N,) array, optional
        Non-negative; all equal by default.
    loss_px : float
        Scale of the Cauchy loss in pixels; 0 for least squares.
    iterations : int
        Largest number of Levenberg-Marquardt steps.
    tolerance : float
        Relative decrease of the cost that ends the search.

    Returns
    -------
    rotation : (3, 3) array
    translation : (3,) array
        Of unit length.

    """
    a1, a2 = checked_points(x1, x2, 5)
    w = checked_weights(weights, len(a1))
    return _refine_pose(np.ascontiguousarray(rotation, np.float64),
                        np.ascontiguousarray(translation, np.float64), a1, a2, w,
                        np.ascontiguousarray(camera_matrix, np.float64), float(loss_px),
                        iterations, tolerance)


def rays_from_pixels(points: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """
    Directions (x, y, 1) of undistorted pixels.

    Parameters
    ----------
    points : (N, 2) array
        Undistorted pixels.
    camera_matrix : (3, 3) array
        K of both views.

    Returns
    -------
    (N, 3) array

    """
    inverse = np.linalg.inv(camera_matrix)
    return points @ inverse[:, :2].T + inverse[:, 2]


def triangulate(rotation: FloatArray, translation: FloatArray, rays1: FloatArray,
                rays2: FloatArray) -> FloatArray:
    """
    Points in space from two rays each.

    Parameters
    ----------
    rotation : (3, 3) array
        R.
    translation : (3,) array
        t, at any scale.
    rays1, rays2 : (N, 3) arrays
        Directions in the first and second camera.

    Returns
    -------
    (N, 4) array
        Homogeneous points in the first camera's frame, of unit norm, last entry >= 0; the last
        entry is 0 for parallel rays. A point behind the first camera lies against its ray.

    Notes
    -----
    On the first ray, where it passes nearest to the second (in the plane of the second ray and
    its normal): lambda1 = (t x f2) . n / abs(f2 x R f1), n the unit normal.

    """
    f1 = rays1 / np.linalg.norm(rays1, axis=1, keepdims=True)
    f2 = rays2 / np.linalg.norm(rays2, axis=1, keepdims=True)
    normal = np.cross(f2, f1 @ rotation.T)
    sine = np.linalg.norm(normal, axis=1)
    moment = np.cross(translation, f2)
    parallel = sine < 1e-15
    normal = np.where(parallel[:, None], moment, normal)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = normal / np.where(length > 0.0, length, 1.0)
    along = (moment * normal).sum(axis=1)
    # All parallel, t as well: the direction is all that is known.
    along = np.where(parallel, 1.0, along)
    points = np.concatenate((along[:, None] * f1, np.where(parallel, 0.0, sine)[:, None]), axis=1)
    norm = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(norm > 0.0, norm, 1.0)


def parallax_angles(rotation: FloatArray, rays1: FloatArray, rays2: FloatArray) -> FloatArray:
    """
    Angles between the rays of each point once the rotation is undone.

    Parameters
    ----------
    rotation : (3, 3) array
        R.
    rays1, rays2 : (N, 3) arrays
        Directions in the first and second camera.

    Returns
    -------
    (N,) array
        Radians; 0 for points at infinity.

    """
    rotated = rays1 @ rotation.T
    sine = np.linalg.norm(np.cross(rotated, rays2), axis=1)
    return np.arctan2(sine, (rotated * rays2).sum(axis=1))


def epipolar_parallax(rotation: FloatArray, translation: FloatArray, x1: FloatArray,
                      x2: FloatArray, camera_matrix: FloatArray) -> FloatArray:
    """
    How far each point has moved along its epipolar line from its image at infinity.

    Parameters
    ----------
    rotation : (3, 3) array
        R.
    translation : (3,) array
        t, at any scale.
    x1, x2 : (N, 2) arrays
        Pixels.
    camera_matrix : (3, 3) array
        K of both views.

    Returns
    -------
    (N,) array
        Pixels; 0 at infinity, positive in front of the camera, negative behind it.

    """
    infinite = rays_from_pixels(x1, camera_matrix) @ (camera_matrix @ rotation).T
    w = np.where(np.abs(infinite[:, 2:]) < 1e-12, 1e-12, infinite[:, 2:])
    infinite = infinite[:, :2] / w
    epipole = camera_matrix @ translation
    # Towards the epipole for t_z > 0: d/ds of pi(x_inf + s e) at s = 0
    direction = epipole[:2] - epipole[2] * infinite
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    direction = direction / np.where(length > 0.0, length, 1.0)
    return ((x2 - infinite) * direction).sum(axis=1)


@kernel
def _decompose(essential: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    u, _, v = svd3(essential)
    turn = np.zeros((3, 3))
    turn[0, 1], turn[1, 0], turn[2, 2] = -1.0, 1.0, 1.0
    vt = v.T.copy()
    return matmul3(matmul3(u, turn), vt), matmul3(matmul3(u, turn.T.copy()), vt), u[:, 2].copy()


@kernel
def _fundamental(rotation: FloatArray, t: FloatArray, k_inv: FloatArray) -> FloatArray:
    return matmul3(matmul3(k_inv.T.copy(), matmul3(cross_matrix(t), rotation)), k_inv)


@kernel
def _vote(r: FloatArray, t: FloatArray, x1: FloatArray, x2: FloatArray, k_inv: FloatArray,
          least: float) -> tuple[float, float, FloatArray]:
    """
    Votes for t and for -t under a rotation, and the sines of the parallax.

    A vote counts s^2 / (s^2 + least^2) for the sine s of the parallax: a point whose parallax is
    noise has no say, and no point a large one.
    """
    forward, backward = 0.0, 0.0
    sines = np.empty(x1.shape[0])
    a = np.empty(3)
    b = np.empty(3)
    f = np.empty(3)
    for n in range(x1.shape[0]):
        for i in range(3):
            f[i] = k_inv[i, 0] * x1[n, 0] + k_inv[i, 1] * x1[n, 1] + k_inv[i, 2]
            b[i] = k_inv[i, 0] * x2[n, 0] + k_inv[i, 1] * x2[n, 1] + k_inv[i, 2]
        for i in range(3):
            a[i] = r[i, 0] * f[0] + r[i, 1] * f[1] + r[i, 2] * f[2]
        aa = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
        bb = b[0] * b[0] + b[1] * b[1] + b[2] * b[2]
        c0 = b[1] * a[2] - b[2] * a[1]
        c1 = b[2] * a[0] - b[0] * a[2]
        c2 = b[0] * a[1] - b[1] * a[0]
        sine2 = (c0 * c0 + c1 * c1 + c2 * c2) / (aa * bb)
        sines[n] = np.sqrt(sine2)
        # lambda1 = (t x b) . (b x a) / |b x a|^2, lambda2 = (t x a) . (b x a) / |b x a|^2
        near = ((t[1] * b[2] - t[2] * b[1]) * c0 + (t[2] * b[0] - t[0] * b[2]) * c1
                + (t[0] * b[1] - t[1] * b[0]) * c2)
        far = ((t[1] * a[2] - t[2] * a[1]) * c0 + (t[2] * a[0] - t[0] * a[2]) * c1
               + (t[0] * a[1] - t[1] * a[0]) * c2)
        weight = sine2 / (sine2 + least * least)
        if near > 0.0 and far > 0.0:
            forward += weight
        elif near < 0.0 and far < 0.0:
            backward += weight
    return forward, backward, sines


@kernel
def _recover(f: FloatArray, x1: FloatArray, x2: FloatArray, weights: FloatArray, k: FloatArray,
             loss: float, iterations: int) -> tuple[FloatArray, FloatArray, float, float]:
    k_inv = inverse_camera(k)
    least = loss / np.sqrt(k[0, 0] * k[1, 1])
    r1, r2, t = _decompose(matmul3(matmul3(k.T.copy(), f), k))
    forward1, backward1, sines1 = _vote(r1, t, x1, x2, k_inv, least)
    forward2, backward2, sines2 = _vote(r2, t, x1, x2, k_inv, least)
    total = forward1 + backward1 + forward2 + backward2
    most = max(max(forward1, backward1), max(forward2, backward2))
    share = most / total if total > 0.0 else 0.25
    first = most == forward1 or most == backward1
    rotation = r1 if first else r2
    direction = t if most == forward1 or most == forward2 else -t
    parallax = median(sines1 if first else sines2)
    if iterations > 0 and x1.shape[0] >= 5:
        rotation, direction = _refine_pose(rotation, direction, x1, x2, weights, k, loss,
                                           iterations, 1e-4)
    return rotation, direction, share, np.arcsin(min(parallax, 1.0))


@kernel
def _pose_basis(rotation: FloatArray, t: FloatArray, b1: FloatArray, b2: FloatArray,
                k_inv: FloatArray) -> FloatArray:
    """(5, 9) derivatives of vec(F) by a rotation of R and by t along its two tangents."""
    basis = np.empty((5, 9))
    for i in range(3):
        # R -> exp(w) R, so dR = [e_i]x R
        spin = np.zeros((3, 3))
        spin[(i + 2) % 3, (i + 1) % 3] = 1.0
        spin[(i + 1) % 3, (i + 2) % 3] = -1.0
        _fill_row(basis, i, _fundamental(matmul3(spin, rotation), t, k_inv))
    _fill_row(basis, 3, _fundamental(rotation, b1, k_inv))
    _fill_row(basis, 4, _fundamental(rotation, b2, k_inv))
    return basis


@kernel
def _fill_row(basis: FloatArray, row: int, m: FloatArray) -> None:
    for i in range(3):
        for j in range(3):
            basis[row, 3 * i + j] = m[i, j]


@kernel
def _tangents(t: FloatArray) -> tuple[FloatArray, FloatArray]:
    least = 0
    for i in range(1, 3):
        if abs(t[i]) < abs(t[least]):
            least = i
    cross = cross_matrix(t)
    b1 = np.empty(3)
    b2 = np.zeros(3)
    norm = 0.0
    for i in range(3):
        b1[i] = cross[i, least]
        norm += b1[i] * b1[i]
    norm = np.sqrt(norm)
    for j in range(3):
        b1[j] /= norm
        for i in range(3):
            b2[i] += cross[i, j] * b1[j]
    return b1, b2


@kernel
def _refine_pose(rotation: FloatArray, t: FloatArray, x1: FloatArray, x2: FloatArray,
                 weights: FloatArray, k: FloatArray, loss: float, iterations: int,
                 tolerance: float) -> tuple[FloatArray, FloatArray]:
    """Levenberg-Marquardt over the five degrees of freedom of (R, t), in focal lengths."""
    focal = np.sqrt(k[0, 0] * k[1, 1])
    y1 = np.empty_like(x1)
    y2 = np.empty_like(x2)
    for n in range(x1.shape[0]):
        y1[n, 0], y1[n, 1] = (x1[n, 0] - k[0, 2]) / focal, (x1[n, 1] - k[1, 2]) / focal
        y2[n, 0], y2[n, 1] = (x2[n, 0] - k[0, 2]) / focal, (x2[n, 1] - k[1, 2]) / focal
    unit = k.copy()
    unit[0, 2] = 0.0
    unit[1, 2] = 0.0
    unit[0, 0] /= focal
    unit[0, 1] /= focal
    unit[1, 1] /= focal
    k_inv = inverse_camera(unit)
    loss2 = (loss / focal) ** 2
    r = rotation.copy()
    d = t / np.sqrt((t * t).sum())
    f = _fundamental(r, d, k_inv)
    cost = _epipolar.sampson_cost(f, y1, y2, weights, loss2)
    gram = np.empty((9, 9))
    gradient = np.empty(9)
    step = np.empty(5)
    damping = 1e-3
    for _ in range(iterations):
        _epipolar.sampson_normal_equations(f, y1, y2, weights, loss2, gram, gradient)
        b1, b2 = _tangents(d)
        jtj, jtr = _epipolar.project(gram, gradient, _pose_basis(r, d, b1, b2, k_inv))
        better = False
        small = False
        while damping < _epipolar.MAX_DAMPING:
            if _epipolar.damped_step(jtj, jtr, damping, step):
                if _epipolar.promised(jtr, step) <= tolerance * cost:
                    break
                new_r = matmul3(rotation_exp(step[0:3]), r)
                new_d = d + step[3] * b1 + step[4] * b2
                new_d /= np.sqrt((new_d * new_d).sum())
                new_f = _fundamental(new_r, new_d, k_inv)
                new_cost = _epipolar.sampson_cost(new_f, y1, y2, weights, loss2)
                if new_cost < cost:
                    better = True
                    small = cost - new_cost <= tolerance * cost
                    r, d, f, cost = new_r, new_d, new_f, new_cost
                    damping = max(damping * 0.1, 1e-12)
                    break
            damping *= 10.0
        if small or not better:
            break
    return r, d
