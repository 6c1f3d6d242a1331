# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What kind of two-view geometry a motion has, and why.

The choice between a fundamental matrix and a homography is one between a model that leaves each
point a dimension of freedom (its depth) and one that does not: in the spirit of Torr's GRIC, the
first must pay for that freedom. The price is 2 units of squared noise a point (GRIC: ln 4), raised
for small samples to the quantile of the F distribution that such a ratio of residuals follows on
a true plane, so that a handful of points on a plane is not called general by chance.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from numba import njit
import numpy as np
import numpy.typing as npt
from scipy.special import fdtri

from gdm_motion_seg.geometry import _projective
from gdm_motion_seg.geometry._linalg import svd3
from gdm_motion_seg.geometry.correspondences import FloatArray
from gdm_motion_seg.geometry.distortion import Camera
from gdm_motion_seg.geometry.fundamental import MIN_POINTS, sampson_distances
from gdm_motion_seg.geometry.homography import (
    homography_distances, MIN_POINTS as MIN_POINTS_H, normalize_homography)

REFERENCE_SIDE = 640.0
"""Longer image side at which constants in pixels were chosen; they grow with the image."""
PRIOR_NOISE_PX = 0.5
"""What a tracker's noise is believed to be before its residuals are seen."""
PRIOR_STRENGTH = 4.0
"""Number of residuals that this belief is worth."""
LEAST_NOISE_PX = 0.1
"""No tracker is better than this."""
STRUCTURE_PRICE = 2.0
"""Squared noise that the freedom of a point along its epipolar line must save."""
SIGNIFICANCE = 0.999
MODEL_TOLERANCE = 0.5
"""Squared noise a point that a rotation may fit worse than a free homography: lens and focal
length are never known exactly."""
FOCAL_FACTORS = (1.0, 0.65, 0.45, 1.3)
"""Focal lengths to try, over the guessed one, where the camera is not calibrated."""


class MotionKind(str, Enum):
    """What two-view geometry a motion has."""

    GENERAL = 'general'
    """A fundamental matrix is determined."""
    PLANAR = 'planar'
    """The points lie on a plane: a homography holds, F is one of a family."""
    NO_PARALLAX = 'no parallax'
    """Pure rotation (or no motion at all): a homography of the whole image holds, F is arbitrary."""
    TOO_FEW = 'too few points'
    """Fewer than eight points: no F can be estimated."""

    @property
    def code(self) -> int:
        """A small number for messages: 0 general, 1 planar, 2 no parallax, 3 too few."""
        return list(MotionKind).index(self)


@dataclass(frozen=True)
class KindDecision:
    """The kind of a motion, why, and the models that came up on the way."""

    kind: MotionKind
    reason: str
    """In a sentence."""
    homography: FloatArray
    """(3, 3); NaN where no homography explains the points."""
    rotation: FloatArray
    """(3, 3) rotation of the camera where that alone explains the points; NaN elsewhere."""
    noise_px: float
    """Standard deviation of the noise of a coordinate, estimated from the residuals."""


def classify_motion(x1: FloatArray, x2: FloatArray, fundamental: FloatArray,
                    camera: Camera) -> KindDecision:
    """
    Tell general, planar, parallax-free and too small motions apart.

    Parameters
    ----------
    x1, x2 : (N, 2) arrays
        Pixels of the motion's points; a few wrong ones do no harm.
    fundamental : (3, 3) array
        Fundamental matrix refined on these points; not looked at if there are fewer than 8.
    camera : Camera
        Its K tells a rotation from a plane; where it is a guess, several focal lengths are tried.

    Returns
    -------
    KindDecision

    References
    ----------
    Torr, An assessment of information criteria for motion model selection, CVPR 1997.

    """
    x1, x2 = np.ascontiguousarray(x1, np.float64), np.ascontiguousarray(x2, np.float64)
    unit = pixel_unit(camera.image_size)
    distinct = _distinct_points(x1, x2, MIN_POINTS)
    if distinct < MIN_POINTS:
        return _too_few(x1, x2, len(x1), distinct, unit)
    n = len(x1)
    epipolar = sampson_distances(fundamental, x1, x2)
    noise = noise_scale(epipolar, 7, unit)
    homography = _robust_homography(x1, x2, noise)
    transfer = homography_distances(homography, x1, x2)
    price = structure_price(n)
    cap = 4.0 * max(price, 4.0)
    saved = _squared(transfer, noise, cap) - _squared(epipolar, noise, cap)
    on_line = min(_thickness(x1), _thickness(x2)) < 2.0 * noise
    if saved.sum() > price * (n - 1) and not on_line:
        return KindDecision(
            MotionKind.GENERAL,
            f'depth moves points by {_rms(transfer):.1f} px against a noise of {noise:.2f} px',
            _NONE.copy(), _NONE.copy(), noise)
    rotated = _rotation_if_enough(x1, x2, transfer, noise, camera)
    if rotated is not None:
        return rotated
    place = 'the points lie on a line' if on_line else 'the points lie on a plane'
    return KindDecision(
        MotionKind.PLANAR,
        f'{place}: a homography explains all {n} within the noise of {noise:.2f} px, '
        'and F is one of a family', normalize_homography(homography), _NONE.copy(), noise)


def pixel_unit(image_size: tuple[int, int]) -> float:
    """
    Size of the image relative to the one at which constants in pixels were chosen.

    Parameters
    ----------
    image_size : (width, height)

    Returns
    -------
    float
        1 for 640 x 480.

    """
    return max(image_size) / REFERENCE_SIDE


def noise_scale(distances: FloatArray, parameters: int, unit: float) -> float:
    """
    Standard deviation of the noise of a coordinate from the Sampson distances of a fitted F.

    Parameters
    ----------
    distances : (N,) array
        Pixels.
    parameters : int
        Degrees of freedom that the fit took away.
    unit : float
        :func:`pixel_unit` of the image.

    Returns
    -------
    float
        Pixels. Robust (from the median), corrected for the parameters, drawn towards what a
        tracker usually does where there are few points, and never zero.

    """
    freedom = max(len(distances) - parameters, 0)
    spread = 0.0
    if freedom:
        median = 1.4826 * float(np.median(distances))
        spread = median * median * len(distances)
    prior = (PRIOR_NOISE_PX * unit) ** 2
    variance = (spread + PRIOR_STRENGTH * prior) / (freedom + PRIOR_STRENGTH)
    return max(float(np.sqrt(variance)), LEAST_NOISE_PX * unit)


@lru_cache(maxsize=4096)
def structure_price(n_points: int) -> float:
    """
    Squared noise that depth must save for each point before F is called determined.

    Parameters
    ----------
    n_points : int

    Returns
    -------
    float
        2 for many points, more for few.

    Examples
    --------
    >>> structure_price(500)
    2.0
    >>> structure_price(10) > 10.0
    True

    """
    freedom = n_points - 7 + PRIOR_STRENGTH
    return max(STRUCTURE_PRICE, float(fdtri(n_points - 1, freedom, SIGNIFICANCE)))


_NONE = np.full((3, 3), np.nan)


def _too_few(x1: FloatArray, x2: FloatArray, n: int, distinct: int, unit: float) -> KindDecision:
    points = f'{n} points' if n == distinct else f'{distinct} distinct points of {n}'
    reason = f'{points}: a fundamental matrix needs {MIN_POINTS}'
    noise = PRIOR_NOISE_PX * unit
    if distinct < MIN_POINTS_H:
        return KindDecision(MotionKind.TOO_FEW, reason, _NONE.copy(), _NONE.copy(), noise)
    homography = _robust_homography(x1, x2, noise)
    return KindDecision(MotionKind.TOO_FEW, reason, normalize_homography(homography),
                        _NONE.copy(), noise)


def _robust_homography(x1: FloatArray, x2: FloatArray, noise: float) -> FloatArray:
    """
    Homography by direct linear transform or similarity, whichever starts better, then refined.

    On a line the linear transform has solutions that send every point to nothing.
    """
    starts = np.stack((_projective.direct_linear(x1, x2, np.ones(len(x1))),
                       _similarity(x1, x2)))
    loss = 3.0 * noise
    costs = np.log1p((_projective.transfer(starts, x1, x2) / loss) ** 2).sum(axis=1)
    return _projective.refine(starts[int(np.argmin(costs))], x1, x2, np.ones(len(x1)), loss,
                              10, 1e-3)


def _similarity(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """Least-squares similarity x2 = s R x1 + t, as a complex line fit."""
    c1, c2 = x1.mean(axis=0), x2.mean(axis=0)
    z1 = (x1 - c1) @ np.array([1.0, 1.0j])
    z2 = (x2 - c2) @ np.array([1.0, 1.0j])
    power = float((z1 * z1.conj()).real.sum())
    a = (z1.conj() * z2).sum() / power if power > 0.0 else 1.0
    if abs(a) < 1e-6:
        a = 1.0 + 0.0j
    turn = np.array([[a.real, -a.imag], [a.imag, a.real]])
    h = np.eye(3)
    h[:2, :2] = turn
    h[:2, 2] = c2 - turn @ c1
    return h


def _rotation_if_enough(x1: FloatArray, x2: FloatArray, transfer: FloatArray, noise: float,
                        camera: Camera) -> KindDecision | None:
    """Decide for no motion, or a pure rotation K R K^-1, where they do as well as any H."""
    n = len(x1)
    cap = 16.0
    free = _squared(transfer, noise, cap).sum()
    weights = 1.0 / (1.0 + (transfer / (3.0 * noise)) ** 2)
    # Two residuals a point against eight parameters; BIC-like price of those not used.
    tolerated = MODEL_TOLERANCE * n + 5.0 * np.log(4.0 * n)
    still = _squared(homography_distances(np.eye(3), x1, x2), noise, cap).sum()
    if still - free <= tolerated:
        flow = float(np.median(np.linalg.norm(x2 - x1, axis=1)))
        return KindDecision(
            MotionKind.NO_PARALLAX,
            f'the points do not move (median {flow:.2f} px, noise {noise:.2f} px): '
            'F is arbitrary', np.eye(3), np.eye(3), noise)
    best: tuple[float, FloatArray, FloatArray] | None = None
    for factor in FOCAL_FACTORS if camera.is_guess else (1.0,):
        k = camera.matrix.copy()
        k[:2, :2] *= factor
        rotation, homography = _rotation_homography(x1, x2, weights, k)
        cost = float(_squared(homography_distances(homography, x1, x2), noise, cap).sum())
        if best is None or cost < best[0]:
            best = cost, rotation, homography
    assert best is not None
    if best[0] - free > tolerated:
        return None
    degrees = np.degrees(np.arccos(np.clip(0.5 * (np.trace(best[1]) - 1.0), -1.0, 1.0)))
    return KindDecision(
        MotionKind.NO_PARALLAX,
        f'a rotation of the camera by {degrees:.2f} degrees explains all {n} points within the '
        f'noise of {noise:.2f} px: F is arbitrary', normalize_homography(best[2]), best[1], noise)


def _squared(distances: FloatArray, noise: float, cap: float) -> npt.NDArray[np.float64]:
    return np.minimum((distances / noise) ** 2, cap)


def _rms(distances: FloatArray) -> float:
    """Root mean square without the tenth that is largest: a number for people."""
    kept = np.sort(distances)[:max(1, (9 * len(distances)) // 10)]
    return float(np.sqrt(np.mean(kept * kept)))


def _thickness(points: FloatArray) -> float:
    """Standard deviation of the points across the line that fits them best."""
    centred = points - points.mean(axis=0)
    xx, yy = float(centred[:, 0] @ centred[:, 0]), float(centred[:, 1] @ centred[:, 1])
    xy = float(centred[:, 0] @ centred[:, 1])
    low = 0.5 * (xx + yy) - np.hypot(0.5 * (xx - yy), xy)
    return float(np.sqrt(max(low, 0.0) / len(points)))


@njit(cache=True)
def _distinct_points(x1: FloatArray, x2: FloatArray, enough: int) -> int:
    """Count different points of the first view, no further than enough."""
    found = np.empty(enough, np.int64)
    count = 0
    for n in range(x1.shape[0]):
        new = True
        for k in range(count):
            m = found[k]
            if (x1[m, 0] == x1[n, 0] and x1[m, 1] == x1[n, 1]
                    and x2[m, 0] == x2[n, 0] and x2[m, 1] == x2[n, 1]):
                new = False
                break
        if new:
            found[count] = n
            count += 1
            if count == enough:
                break
    return count


@njit(cache=True)
def _rotation_homography(x1: FloatArray, x2: FloatArray, weights: FloatArray,
                         k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotation R that turns the first rays into the second (Wahba), and K R K^-1."""
    k_inv = np.linalg.inv(k)
    profile = np.zeros((3, 3))
    a = np.empty(3)
    b = np.empty(3)
    for n in range(x1.shape[0]):
        aa, bb = 0.0, 0.0
        for i in range(3):
            a[i] = k_inv[i, 0] * x1[n, 0] + k_inv[i, 1] * x1[n, 1] + k_inv[i, 2]
            b[i] = k_inv[i, 0] * x2[n, 0] + k_inv[i, 1] * x2[n, 1] + k_inv[i, 2]
            aa += a[i] * a[i]
            bb += b[i] * b[i]
        w = weights[n] / np.sqrt(aa * bb)
        for i in range(3):
            for j in range(3):
                profile[i, j] += w * b[i] * a[j]
    u, _, v = svd3(profile)
    rotation = u @ v.T
    return rotation, k @ rotation @ k_inv
