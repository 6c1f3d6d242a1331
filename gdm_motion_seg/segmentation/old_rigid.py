# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Rigid motions (R, t) fitted to few or many rays, compiled.

The search of the segmentation fits thousands of motions to eight points each. E = [t]x R has five
degrees of freedom where F has seven: a small mover of a dozen points is not fitted by chance. Rays
are points at depth 1; a guessed focal length serves, because its error is absorbed by the depths.
"""

import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._linalg import cholesky_inplace, cholesky_solve_inplace, svd3
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray

CAUCHY_SIGMAS = 2.0
"""Scale c of the Cauchy loss of a fit, in standard deviations s of the noise."""
CAUCHY_PRECISION = 1.0 / (CAUCHY_SIGMAS * CAUCHY_SIGMAS)
"""1 / c^2."""
LARGE = 1e100
"""A product that exceeds this is put aside as its logarithm, long before it overflows."""
LARGEST_TURN = 0.3
"""Largest rotation of one step in radians: further away the linearisation tells nothing."""
SUBSET = 24
"""A fit from nowhere looks at so many points; all of them refine its result."""
BEHIND_WEIGHT = 0.1
"""Weight of a squared parallax of the wrong sign: a guessed focal length shifts it a little."""
BEHIND_CAP = 2.0
"""Most that a parallax of the wrong sign costs: it is a hint, the distance a measurement."""


@kernel
def _essential(rotation: FloatArray, t: FloatArray, e: FloatArray) -> None:
    """Write E = [t]x R."""
    for j in range(3):
        e[0, j] = t[1] * rotation[2, j] - t[2] * rotation[1, j]
        e[1, j] = t[2] * rotation[0, j] - t[0] * rotation[2, j]
        e[2, j] = t[0] * rotation[1, j] - t[1] * rotation[0, j]


@kernel
def _cauchy_cost(e: FloatArray, y1: FloatArray, y2: FloatArray, members: IntArray,
                 precision: FloatArray) -> float:
    """Sum log(1 + (d / c s)^2) of the Sampson distances d."""
    cost, product = 0.0, 1.0
    for n in members:
        a0, a1, b0, b1 = y1[n, 0], y1[n, 1], y2[n, 0], y2[n, 1]
        l0 = e[0, 0] * a0 + e[0, 1] * a1 + e[0, 2]
        l1 = e[1, 0] * a0 + e[1, 1] * a1 + e[1, 2]
        l2 = e[2, 0] * a0 + e[2, 1] * a1 + e[2, 2]
        m0 = e[0, 0] * b0 + e[1, 0] * b1 + e[2, 0]
        m1 = e[0, 1] * b0 + e[1, 1] * b1 + e[2, 1]
        c = b0 * l0 + b1 * l1 + l2
        q = l0 * l0 + l1 * l1 + m0 * m0 + m1 * m1 + 1e-18
        product *= 1.0 + c * c / q * (precision[n] * CAUCHY_PRECISION)
        # One logarithm for many points, not one for each.
        if product > LARGE:
            cost += math.log(product)
            product = 1.0
    return cost + math.log(product)


@kernel
def _tangents(t: FloatArray, u: FloatArray, v: FloatArray) -> None:
    """Write two directions that span the tangent plane of the unit sphere at t."""
    k = 0
    for i in range(1, 3):
        if abs(t[i]) < abs(t[k]):
            k = i
    for i in range(3):
        u[i] = -t[k] * t[i]
    u[k] += 1.0
    norm = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    for i in range(3):
        u[i] /= norm
    v[0] = t[1] * u[2] - t[2] * u[1]
    v[1] = t[2] * u[0] - t[0] * u[2]
    v[2] = t[0] * u[1] - t[1] * u[0]


@kernel
def _turn(rotation: FloatArray, w0: float, w1: float, w2: float, turned: FloatArray) -> None:
    """Write exp([w]x) R."""
    theta = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    a, b = 1.0, 0.5
    if theta > 1e-9:
        a, b = math.sin(theta) / theta, (1.0 - math.cos(theta)) / (theta * theta)
    r00 = 1 - b * (w1 * w1 + w2 * w2)
    r11 = 1 - b * (w0 * w0 + w2 * w2)
    r22 = 1 - b * (w0 * w0 + w1 * w1)
    r01, r10 = -a * w2 + b * w0 * w1, a * w2 + b * w0 * w1
    r02, r20 = a * w1 + b * w0 * w2, -a * w1 + b * w0 * w2
    r12, r21 = -a * w0 + b * w1 * w2, a * w0 + b * w1 * w2
    for j in range(3):
        x, y, z = rotation[0, j], rotation[1, j], rotation[2, j]
        turned[0, j] = r00 * x + r01 * y + r02 * z
        turned[1, j] = r10 * x + r11 * y + r12 * z
        turned[2, j] = r20 * x + r21 * y + r22 * z


@kernel
def _derivatives(rotation: FloatArray, t: FloatArray, u: FloatArray, v: FloatArray,
                 turned: FloatArray, de: FloatArray) -> None:
    """Write dE along the three turns and the two tangents of t."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            turned[i, c] = 0.0
            turned[j, c] = -rotation[k, c]
            turned[k, c] = rotation[j, c]
        _essential(turned, t, de[i])
    _essential(rotation, u, de[3])
    _essential(rotation, v, de[4])


@kernel
def _normal_equations(e: FloatArray, de: FloatArray, y1: FloatArray, y2: FloatArray,
                      members: IntArray, precision: FloatArray, jtj: FloatArray,
                      jtr: FloatArray) -> None:
    """Sum the Cauchy-weighted normal equations of the Sampson distances."""
    jtj[:] = 0.0
    jtr[:] = 0.0
    j, g = np.empty(5), np.empty((3, 3))
    for n in members:
        a0, a1, b0, b1 = y1[n, 0], y1[n, 1], y2[n, 0], y2[n, 1]
        l0 = e[0, 0] * a0 + e[0, 1] * a1 + e[0, 2]
        l1 = e[1, 0] * a0 + e[1, 1] * a1 + e[1, 2]
        l2 = e[2, 0] * a0 + e[2, 1] * a1 + e[2, 2]
        m0 = e[0, 0] * b0 + e[1, 0] * b1 + e[2, 0]
        m1 = e[0, 1] * b0 + e[1, 1] * b1 + e[2, 1]
        c = b0 * l0 + b1 * l1 + l2
        q = l0 * l0 + l1 * l1 + m0 * m0 + m1 * m1 + 1e-18
        scale = 1.0 / math.sqrt(q)
        r = c * scale
        p = precision[n] * CAUCHY_PRECISION
        weight = p / (1.0 + r * r * p)
        # g / sqrt(q) = dr / dE: the derivative of c, less r times that of sqrt(q).
        h = c / q
        s0, s1, u0, u1 = l0 * h, l1 * h, m0 * h, m1 * h
        g[0, 0] = (b0 - s0) * a0 - b0 * u0
        g[0, 1] = (b0 - s0) * a1 - b0 * u1
        g[0, 2] = b0 - s0
        g[1, 0] = (b1 - s1) * a0 - b1 * u0
        g[1, 1] = (b1 - s1) * a1 - b1 * u1
        g[1, 2] = b1 - s1
        g[2, 0] = a0 - u0
        g[2, 1] = a1 - u1
        g[2, 2] = 1.0
        for i in range(5):
            total = 0.0
            for x in range(3):
                for y in range(3):
                    total += de[i, x, y] * g[x, y]
            j[i] = total * scale
        for i in range(5):
            jtr[i] += weight * j[i] * r
            for k in range(i + 1):
                jtj[i, k] += weight * j[i] * j[k]


@kernel
def refine_rigid(rotation: FloatArray, t: FloatArray, y1: FloatArray, y2: FloatArray,
                 members: IntArray, precision: FloatArray, iterations: int) -> float:
    """
    Minimise the Cauchy-weighted Sampson distances over (R, t), in place; return the cost.

    ``precision`` is 1 / s^2 of each point in the unit of the rays.
    """
    e, de = np.empty((3, 3)), np.empty((5, 3, 3))
    u, v, t_new = np.empty(3), np.empty(3), np.empty(3)
    turned, jtj, jtr = np.empty((3, 3)), np.empty((5, 5)), np.empty(5)
    factor, step = np.empty((5, 5)), np.empty(5)
    _essential(rotation, t, e)
    cost = _cauchy_cost(e, y1, y2, members, precision)
    damping = 1e-3
    for _ in range(iterations):
        _tangents(t, u, v)
        _derivatives(rotation, t, u, v, turned, de)
        _normal_equations(e, de, y1, y2, members, precision, jtj, jtr)
        better = False
        new_cost = cost
        for _ in range(4):
            for i in range(5):
                for k in range(i + 1):
                    factor[i, k] = jtj[i, k]
                factor[i, i] = jtj[i, i] * (1.0 + damping) + 1e-12
                step[i] = -jtr[i]
            if cholesky_inplace(factor):
                cholesky_solve_inplace(factor, step)
                angle = math.sqrt(step[0] ** 2 + step[1] ** 2 + step[2] ** 2)
                shrink = min(1.0, LARGEST_TURN / angle) if angle > 0.0 else 1.0
                _turn(rotation, step[0] * shrink, step[1] * shrink, step[2] * shrink, turned)
                norm = 0.0
                for i in range(3):
                    t_new[i] = t[i] + step[3] * u[i] + step[4] * v[i]
                    norm += t_new[i] * t_new[i]
                norm = math.sqrt(norm)
                for i in range(3):
                    t_new[i] /= norm
                _essential(turned, t_new, e)
                new_cost = _cauchy_cost(e, y1, y2, members, precision)
                if new_cost < cost:
                    better = True
                    break
            damping *= 10.0
        if not better:
            break
        rotation[:] = turned
        t[:] = t_new
        gain = cost - new_cost
        cost = new_cost
        damping = max(damping * 0.1, 1e-7)
        if gain < 1e-4 * cost + 1e-9:
            break
    return cost


@kernel
def rigid_cost(rotation: FloatArray, t: FloatArray, y1: FloatArray, y2: FloatArray,
               precision: FloatArray, cost: FloatArray, mirrored: FloatArray) -> None:
    """
    Write the cost of each point under (R, t), and under the mirrored (R, -t).

    The cost is (d / s)^2 / 2 of the Sampson distance d, plus that of a parallax of the wrong sign
    (a point behind the camera). The parallax is measured along the epipolar line, from where the
    point would be at infinity.
    """
    e = np.empty((3, 3))
    _essential(rotation, t, e)
    for n in range(len(y1)):
        a0, a1, b0, b1 = y1[n, 0], y1[n, 1], y2[n, 0], y2[n, 1]
        l0 = e[0, 0] * a0 + e[0, 1] * a1 + e[0, 2]
        l1 = e[1, 0] * a0 + e[1, 1] * a1 + e[1, 2]
        l2 = e[2, 0] * a0 + e[2, 1] * a1 + e[2, 2]
        m0 = e[0, 0] * b0 + e[1, 0] * b1 + e[2, 0]
        m1 = e[0, 1] * b0 + e[1, 1] * b1 + e[2, 1]
        c = b0 * l0 + b1 * l1 + l2
        q = l0 * l0 + l1 * l1 + m0 * m0 + m1 * m1 + 1e-18
        distance = 0.5 * c * c / q * precision[n]
        x = rotation[0, 0] * a0 + rotation[0, 1] * a1 + rotation[0, 2]
        y = rotation[1, 0] * a0 + rotation[1, 1] * a1 + rotation[1, 2]
        z = max(rotation[2, 0] * a0 + rotation[2, 1] * a1 + rotation[2, 2], 1e-6)
        x /= z
        y /= z
        gx, gy = t[0] - t[2] * x, t[1] - t[2] * y
        parallax = ((b0 - x) * gx + (b1 - y) * gy) / (math.sqrt(gx * gx + gy * gy) + 1e-12)
        behind = min(0.5 * BEHIND_WEIGHT * parallax * parallax * precision[n], BEHIND_CAP)
        cost[n] = distance + (behind if parallax < 0.0 else 0.0)
        mirrored[n] = distance + (behind if parallax > 0.0 else 0.0)


@kernel
def face_forward(t: FloatArray, cost: FloatArray, mirrored: FloatArray, members: IntArray,
                 cap: float) -> float:
    """Give t the sign under which more members lie before the camera; return their capped cost."""
    forward, backward = 0.0, 0.0
    for n in members:
        forward += min(cost[n], cap)
        backward += min(mirrored[n], cap)
    if backward < forward:
        for n in range(len(cost)):
            cost[n], mirrored[n] = mirrored[n], cost[n]
        for i in range(3):
            t[i] = -t[i]
        return backward
    return forward


@kernel
def _aligning_rotation(y1: FloatArray, y2: FloatArray, members: IntArray,
                       rotation: FloatArray) -> None:
    """Write the rotation that best turns the first rays into the second (Wahba's problem)."""
    b = np.zeros((3, 3))
    for n in members:
        w = 1.0 / math.sqrt((1.0 + y1[n, 0] ** 2 + y1[n, 1] ** 2)
                            * (1.0 + y2[n, 0] ** 2 + y2[n, 1] ** 2))
        b[0, 0] += w * y2[n, 0] * y1[n, 0]
        b[0, 1] += w * y2[n, 0] * y1[n, 1]
        b[0, 2] += w * y2[n, 0]
        b[1, 0] += w * y2[n, 1] * y1[n, 0]
        b[1, 1] += w * y2[n, 1] * y1[n, 1]
        b[1, 2] += w * y2[n, 1]
        b[2, 0] += w * y1[n, 0]
        b[2, 1] += w * y1[n, 1]
        b[2, 2] += w
    left, _, right = svd3(b)
    for i in range(3):
        for j in range(3):
            rotation[i, j] = (left[i, 0] * right[j, 0] + left[i, 1] * right[j, 1]
                              + left[i, 2] * right[j, 2])


@kernel
def _fit_from_nowhere(rotation: FloatArray, t: FloatArray, y1: FloatArray, y2: FloatArray,
                      precision: FloatArray, cap: float, iterations: int) -> float:
    """Fit all points, from two rotations and three directions; the lowest capped cost wins."""
    members = np.arange(len(y1))
    r, direction, aligned = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
    cost, mirrored = np.empty(len(y1)), np.empty(len(y1))
    _aligning_rotation(y1, y2, members, aligned)
    best = np.inf
    for aligning in range(2):
        for axis in range(3):
            r[:] = aligned if aligning else np.eye(3)
            direction[:] = 0.0
            direction[axis] = 1.0
            refine_rigid(r, direction, y1, y2, members, precision, iterations)
            rigid_cost(r, direction, y1, y2, precision, cost, mirrored)
            value = face_forward(direction, cost, mirrored, members, cap)
            if value < best:
                best = value
                rotation[:] = r
                t[:] = direction
    return best


@kernel
def fit_rigid(rotation: FloatArray, t: FloatArray, y1: FloatArray, y2: FloatArray,
              members: IntArray, precision: FloatArray, cap: float) -> None:
    """Fit (R, t) to the members without a start, in place: from a subset, then with all."""
    m = len(members)
    few = min(m, SUBSET)
    f1, f2, fp = np.empty((few, 2)), np.empty((few, 2)), np.empty(few)
    for i in range(few):
        n = members[i * m // few]
        f1[i] = y1[n]
        f2[i] = y2[n]
        fp[i] = precision[n]
    _fit_from_nowhere(rotation, t, f1, f2, fp, cap, 8)
    if m > few:
        refine_rigid(rotation, t, y1, y2, members, precision, 4)


@kernel
def fit_rigid_samples(y1: FloatArray, y2: FloatArray, precision: FloatArray, samples: IntArray,
                      cap: float) -> tuple[FloatArray, FloatArray]:
    """Fit a motion to each row of (H, M) indices."""
    rotations, ts = np.empty((len(samples), 3, 3)), np.empty((len(samples), 3))
    for h in range(len(samples)):
        fit_rigid(rotations[h], ts[h], y1, y2, samples[h], precision, cap)
    return rotations, ts


@kernel
def rigid_costs(rotations: FloatArray, ts: FloatArray, y1: FloatArray, y2: FloatArray,
                precision: FloatArray, cap: float) -> FloatArray:
    """Compute the capped cost (H, N) of every point; the sign of each t is chosen, in place."""
    everyone = np.arange(len(y1))
    costs, mirrored = np.empty((len(rotations), len(y1))), np.empty(len(y1))
    for h in range(len(rotations)):
        rigid_cost(rotations[h], ts[h], y1, y2, precision, costs[h], mirrored)
        face_forward(ts[h], costs[h], mirrored, everyone, cap)
        for n in range(len(y1)):
            costs[h, n] = min(costs[h, n], cap)
    return costs
