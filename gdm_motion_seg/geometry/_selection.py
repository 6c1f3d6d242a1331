# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled kernels of model selection: the scale of the noise, and what it leaves undecided."""

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry import _projective
from gdm_motion_seg.geometry._epipolar import (
    eight_point, eight_point_samples, refine_rank_two, sampson)
from gdm_motion_seg.geometry._linalg import inverse_camera, matmul3, median, svd3
from gdm_motion_seg.geometry.correspondences import FloatArray

PRIOR_NOISE_PX = 0.7
"""What a tracker's noise is believed to be before its residuals are seen."""
PRIOR_STRENGTH = 8.0
"""Number of residuals that this belief is worth."""
LEAST_NOISE_PX = 0.1
"""No tracker is better than this."""
INLIER_SIGMAS = 3.5
"""Where the last fit, by least squares, cuts: a Cauchy loss alone lets many outliers pull."""
SUSPICIOUS_NOISE_PX = 1.0
"""Noise above which gross errors are looked for, ..."""
GROSS_SIGMAS, GROSS_SHARE = 5.0, 0.02
"""... and the share of points beyond so many standard deviations that is a sign of them too."""
SAMPLES = 64
"""Samples of eight points: with a quarter of them wrong, one is clean in 999 of 1000 cases."""
MODEL_TOLERANCE = 0.5
"""Squared noise a point that a rotation may fit worse than a free homography: lens and focal
length are never known exactly."""
LOSS_SIGMAS = 2.385
"""Scale of a Cauchy loss over the noise: 95 % efficiency under Gaussian noise."""
CAP = 50.0
"""Squared noise at which a residual stops to count: it is an outlier."""
PRICE_OF_DEPTH, PRICE_FOR_FEW, HIGHEST_PRICE = 2.0, 100.0, 8.0
"""Squared noise that the freedom of a point along its epipolar line must save: the first, plus the
second over the number of points, up to the third. In Torr's GRIC it is ln 4; but on a plane F may
choose its epipole to suit the noise. At this price 99 % of simulated planes with up to 1 px of
noise stay planes."""
FOCAL_FACTORS = (0.4, 1.4)
"""Focal lengths to try, over the guessed one: 0.5 to 1.7 times the longer side of the image."""
_GOLDEN = 0.6180339887498949
_SEARCH_POINTS = 150
_SEARCH_STEPS = 8

GENERAL, ON_PLANE, ON_LINE, ROTATING, STILL = 0, 1, 2, 3, 4


@kernel
def noise_scale(distances: FloatArray, residuals: int, parameters: int, unit: float) -> float:
    """
    Estimate the standard deviation of a coordinate's noise from distances to a fitted model.

    The distances have one residual each (Sampson to F) or two (to a homography). Robust: from the
    median, then from those under 3 (3.5) standard deviations; corrected for the fitted
    parameters; drawn towards what trackers usually do where there are few points; never zero.
    """
    n = distances.shape[0]
    prior = (PRIOR_NOISE_PX * unit) ** 2
    freedom = residuals * n - parameters
    if freedom <= 0:
        return np.sqrt(prior)
    # Squared median, squared cut, and mean square under the cut, of unit noise.
    median2, cut2, mean2 = (0.4549, 9.0, 0.9733) if residuals == 1 else (1.3863, 12.25, 1.9731)
    squared = distances * distances
    variance: float = median(squared) / median2
    for _ in range(3):
        total, count = 0.0, 0
        for i in range(n):
            if squared[i] <= cut2 * variance:
                total += squared[i]
                count += 1
        if count == 0:
            break
        variance = total / (count * mean2)
    variance = (variance * residuals * n + PRIOR_STRENGTH * prior) / (freedom + PRIOR_STRENGTH)
    return max(np.sqrt(variance), LEAST_NOISE_PX * unit)


@kernel
def robust_fundamental(x1: FloatArray, x2: FloatArray, unit: float) -> FloatArray:
    """
    Eight-point fit, refined under a Cauchy loss of the residuals' scale, then on the inliers.

    Gross errors among the points spoil every fit to all of them; where there is a sign of them,
    the fit with the least median over samples of eight gets a chance.
    """
    f = eight_point(x1, x2, np.ones(x1.shape[0]))
    distances = sampson(f, x1, x2)
    loss = LOSS_SIGMAS * noise_scale(distances, 1, 7, unit)
    f = eight_point(x1, x2, 1.0 / (1.0 + (distances / loss) ** 2))
    f, noise = _refine_at_own_scale(f, x1, x2, unit)
    gross = np.sum(sampson(f, x1, x2) > GROSS_SIGMAS * noise)
    if noise > SUSPICIOUS_NOISE_PX * unit or gross > GROSS_SHARE * x1.shape[0]:
        other, other_noise = _refine_at_own_scale(_least_median(x1, x2), x1, x2, unit)
        if other_noise < noise:
            f, noise = other, other_noise
    inliers = np.where(sampson(f, x1, x2) < INLIER_SIGMAS * noise, 1.0, 0.0)
    return refine_rank_two(f, x1, x2, inliers, 0.0, 20, 1e-5)


@kernel
def _refine_at_own_scale(f: FloatArray, x1: FloatArray, x2: FloatArray,
                         unit: float) -> tuple[FloatArray, float]:
    """Refine twice, each time at the scale of the residuals; the last one comes back as well."""
    ones = np.ones(x1.shape[0])
    for _ in range(2):
        loss = LOSS_SIGMAS * noise_scale(sampson(f, x1, x2), 1, 7, unit)
        f = refine_rank_two(f, x1, x2, ones, loss, 20, 1e-3)
    return f, noise_scale(sampson(f, x1, x2), 1, 7, unit)


@kernel
def _least_median(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """Fit with the least median distance among samples of eight; the same ones every time."""
    n = x1.shape[0]
    samples = np.empty((SAMPLES, 8), np.int64)
    state = np.uint64(88172645463325252)
    for h in range(SAMPLES):
        for k in range(8):
            # Marsaglia's xorshift: a fixed sequence, so that the same points give the same fit
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            samples[h, k] = np.int64(state >> np.uint64(33)) % n
    fits = eight_point_samples(x1, x2, samples, 4)
    best, lowest = 0, np.inf
    for h in range(SAMPLES):
        middle = median(sampson(fits[h], x1, x2))
        if middle < lowest:
            best, lowest = h, middle
    return fits[best].copy()


@kernel
def robust_homography(x1: FloatArray, x2: FloatArray, loss: float) -> FloatArray:
    """
    Homography by direct linear transform or similarity, whichever starts better, then refined.

    On a line the linear transform has solutions that send every point to nothing.
    """
    ones = np.ones(x1.shape[0])
    linear = _projective.direct_linear(x1, x2, ones)
    similar = _similarity(x1, x2)
    if _cauchy_cost(similar, x1, x2, loss) < _cauchy_cost(linear, x1, x2, loss):
        linear = similar
    return _projective.refine(linear, x1, x2, ones, loss, 6, 1e-2)


@kernel
def select(x1: FloatArray, x2: FloatArray, f: FloatArray, k: FloatArray, is_guess: bool,
           unit: float) -> tuple[int, float, float, FloatArray, FloatArray]:
    """Kind of the motion, noise, median distance from a homography, that one, and a rotation."""
    n = x1.shape[0]
    epipolar = sampson(f, x1, x2)
    noise = noise_scale(epipolar, 1, 7, unit)
    h = robust_homography(x1, x2, 3.0 * noise)
    transfer = _projective.transfer(h, x1, x2)
    saved = _capped(transfer, noise) - _capped(epipolar, noise)
    price = min(PRICE_OF_DEPTH + PRICE_FOR_FEW / n, HIGHEST_PRICE)
    on_line = min(_thickness(x1), _thickness(x2)) < 2.0 * noise
    depth = median(transfer)
    if saved > price * (n - 1) and not on_line:
        return GENERAL, noise, depth, h, np.eye(3)
    # The homography is the better witness of the noise now: two residuals a point, and F may
    # have followed the noise with the freedom that a plane leaves it.
    noise = noise_scale(transfer, 2, 8, unit)
    tolerated = (_capped(transfer, noise) + MODEL_TOLERANCE * n + 5.0 * np.log(4.0 * n))
    still = np.eye(3)
    if _capped(_projective.transfer(still, x1, x2), noise) <= tolerated:
        return STILL, noise, depth, still, still
    weights = 1.0 / (1.0 + (transfer / (3.0 * noise)) ** 2)
    rotation, turned = rotation_homography(x1, x2, weights, k)
    cost = _capped(_projective.transfer(turned, x1, x2), noise)
    if cost > tolerated and is_guess:
        k = _best_focal(x1, x2, weights, k, 3.0 * noise)
        rotation, turned = rotation_homography(x1, x2, weights, k)
        cost = _capped(_projective.transfer(turned, x1, x2), noise)
    if cost <= tolerated:
        return ROTATING, noise, depth, turned, rotation
    return (ON_LINE if on_line else ON_PLANE), noise, depth, h, np.eye(3)


@kernel
def rotation_homography(x1: FloatArray, x2: FloatArray, weights: FloatArray,
                        k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotation R that turns the first rays into the second (Wahba's problem), and K R K^-1."""
    k_inv = inverse_camera(k)
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
    rotation = matmul3(u, v.T.copy())
    return rotation, matmul3(k, matmul3(rotation, k_inv))


@kernel
def _best_focal(x1: FloatArray, x2: FloatArray, weights: FloatArray, k: FloatArray,
                loss: float) -> FloatArray:
    """Camera matrix whose focal length makes a pure rotation fit best, by golden section."""
    stride = max(1, x1.shape[0] // _SEARCH_POINTS)
    y1, y2, w = x1[::stride].copy(), x2[::stride].copy(), weights[::stride].copy()
    low, high = np.log(FOCAL_FACTORS[0]), np.log(FOCAL_FACTORS[1])
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    cost_left = _focal_cost(left, y1, y2, w, k, loss)
    cost_right = _focal_cost(right, y1, y2, w, k, loss)
    for _ in range(_SEARCH_STEPS):
        if cost_left < cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - _GOLDEN * (high - low)
            cost_left = _focal_cost(left, y1, y2, w, k, loss)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + _GOLDEN * (high - low)
            cost_right = _focal_cost(right, y1, y2, w, k, loss)
    return _with_focal(k, 0.5 * (low + high))


@kernel
def _focal_cost(log_factor: float, x1: FloatArray, x2: FloatArray, weights: FloatArray,
                k: FloatArray, loss: float) -> float:
    _, h = rotation_homography(x1, x2, weights, _with_focal(k, log_factor))
    return _cauchy_cost(h, x1, x2, loss)


@kernel
def _with_focal(k: FloatArray, log_factor: float) -> FloatArray:
    scaled = k.copy()
    factor = np.exp(log_factor)
    scaled[0, 0] *= factor
    scaled[0, 1] *= factor
    scaled[1, 1] *= factor
    return scaled


@kernel
def _cauchy_cost(h: FloatArray, x1: FloatArray, x2: FloatArray, loss: float) -> float:
    distances = _projective.transfer(h, x1, x2)
    return np.log1p((distances / loss) ** 2).sum()


@kernel
def _capped(distances: FloatArray, noise: float) -> float:
    """Sum of squared distances over the noise, each no larger than CAP."""
    total = 0.0
    for i in range(distances.shape[0]):
        total += min((distances[i] / noise) ** 2, CAP)
    return total


@kernel
def _similarity(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """Least-squares similarity x2 = s R x1 + t, as a complex line fit."""
    n = x1.shape[0]
    c1x, c1y = x1[:, 0].mean(), x1[:, 1].mean()
    c2x, c2y = x2[:, 0].mean(), x2[:, 1].mean()
    power, a, b = 0.0, 0.0, 0.0
    for i in range(n):
        x, y = x1[i, 0] - c1x, x1[i, 1] - c1y
        u, v = x2[i, 0] - c2x, x2[i, 1] - c2y
        power += x * x + y * y
        a += x * u + y * v
        b += x * v - y * u
    if a * a + b * b > 1e-12 * power * power:
        a /= power
        b /= power
    else:
        a, b = 1.0, 0.0
    return np.array([[a, -b, c2x - a * c1x + b * c1y], [b, a, c2y - b * c1x - a * c1y],
                     [0.0, 0.0, 1.0]])


@kernel
def _thickness(points: FloatArray) -> float:
    """Spread (standard deviation) of the points across the line that fits them best."""
    n = points.shape[0]
    cx, cy = points[:, 0].mean(), points[:, 1].mean()
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(n):
        x, y = points[i, 0] - cx, points[i, 1] - cy
        xx += x * x
        xy += x * y
        yy += y * y
    low = 0.5 * (xx + yy) - np.hypot(0.5 * (xx - yy), xy)
    return np.sqrt(max(low, 0.0) / n)


@kernel
def distinct_points(x1: FloatArray, x2: FloatArray, enough: int) -> int:
    """Count different correspondences, no further than enough."""
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
