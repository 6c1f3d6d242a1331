# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Rigid motions (R, t) fitted to few or many rays, compiled.

E = [t]x R has five degrees of freedom where F has seven: a small mover of a dozen points is not
fitted by chance. Rays are points at depth 1; a guessed focal length serves, because its error is
absorbed by the depths. They are stored as (4, N): x and y of the older frame, x and y of the newer
one. Loops over rows of such an array are vectorized.
"""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inlined, inner_kernel, kernel, reordered_kernel
from gdm_motion_seg.gdm.eigen import eigensystem
from gdm_motion_seg.geometry.numerics import solve_inplace

CAUCHY_PRECISION = 0.25
"""1 / c^2 of the scale c of the Cauchy loss: 2 standard deviations of the noise."""
LARGEST_TURN = 0.3
"""Largest rotation of one step in radians: further away the linearisation tells nothing."""
SUBSET = 24
"""Points on which a fit without a start is made; all of them refine its result."""
START_STEPS, FINAL_STEPS = 6, 8
"""Steps from each start of such a fit, and of the best of them."""
BEHIND_WEIGHT = 0.1
"""Weight of a squared parallax of the wrong sign: a guessed focal length shifts it a little."""
BEHIND_CAP = 2.0
"""Most nats that a parallax of the wrong sign costs: it is a hint, the distance a measurement."""
TINY = 1e-18
"""Keeps a point at both epipoles from dividing by zero."""


@inner_kernel
def _cross(t: FloatArray, r: FloatArray, e: FloatArray) -> None:
    """Write [t]x R."""
    for j in range(3):
        e[0, j] = t[1] * r[2, j] - t[2] * r[1, j]
        e[1, j] = t[2] * r[0, j] - t[0] * r[2, j]
        e[2, j] = t[0] * r[1, j] - t[1] * r[0, j]


@kernel
def essential(motion: FloatArray, e: FloatArray) -> None:
    """Write E = [t]x R of a motion (4, 3), which is R with t below it."""
    _cross(motion[3], motion, e)


@inlined
def _turn(rotation: FloatArray, w0: float, w1: float, w2: float, turned: FloatArray) -> None:
    """Write exp([w]x) R."""
    theta = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    a, b = 1.0, 0.5
    if theta > 1e-9:
        a, b = math.sin(theta) / theta, (1.0 - math.cos(theta)) / (theta * theta)
    for j in range(3):
        x, y, z = rotation[0, j], rotation[1, j], rotation[2, j]
        along = b * (w0 * x + w1 * y + w2 * z)
        shrink = 1.0 - b * theta * theta
        turned[0, j] = shrink * x + a * (w1 * z - w2 * y) + along * w0
        turned[1, j] = shrink * y + a * (w2 * x - w0 * z) + along * w1
        turned[2, j] = shrink * z + a * (w0 * y - w1 * x) + along * w2


@inner_kernel
def _derivatives(motion: FloatArray, uv: FloatArray, turned: FloatArray, de: FloatArray) -> None:
    """Write two tangents of the unit sphere at t, and dE along three turns and along them."""
    t = motion[3]
    least = 0
    for i in range(1, 3):
        if abs(t[i]) < abs(t[least]):
            least = i
    norm = math.sqrt(1.0 - t[least] * t[least])
    for i in range(3):
        uv[0, i] = ((1.0 if i == least else 0.0) - t[least] * t[i]) / norm
    uv[1, 0] = t[1] * uv[0, 2] - t[2] * uv[0, 1]
    uv[1, 1] = t[2] * uv[0, 0] - t[0] * uv[0, 2]
    uv[1, 2] = t[0] * uv[0, 1] - t[1] * uv[0, 0]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            turned[i, c] = 0.0
            turned[j, c] = -motion[k, c]
            turned[k, c] = motion[j, c]
        _cross(t, turned, de[i])
    _cross(uv[0], motion, de[3])
    _cross(uv[1], motion, de[4])


@inlined
def epipolar(e: tuple[float, ...], x: float, y: float, u: float,
             v: float) -> tuple[float, float, float, float, float, float]:
    """
    Return what the Sampson distance c / sqrt(q) of (x, y), (u, v) consists of.

    The first two entries of E a and of E^T b, c = b^T E a, and q, their sum of squares.
    """
    l0 = e[0] * x + e[1] * y + e[2]
    l1 = e[3] * x + e[4] * y + e[5]
    m0 = e[0] * u + e[3] * v + e[6]
    m1 = e[1] * u + e[4] * v + e[7]
    c = u * l0 + v * l1 + e[6] * x + e[7] * y + e[8]
    return l0, l1, m0, m1, c, l0 * l0 + l1 * l1 + m0 * m0 + m1 * m1 + TINY


@inlined
def entries(e: FloatArray) -> tuple[float, ...]:
    """Return the entries of a 3 x 3 matrix as numbers, which a loop keeps in registers."""
    return (e[0, 0], e[0, 1], e[0, 2], e[1, 0], e[1, 1], e[1, 2], e[2, 0], e[2, 1], e[2, 2])


@inlined
def _product(d: tuple[float, ...], m: tuple[float, ...]) -> float:
    """Multiply dE with the derivative of the distance by E, the last entry of which is 1."""
    return (d[0] * m[0] + d[1] * m[1] + d[2] * m[2] + d[3] * m[3] + d[4] * m[4] + d[5] * m[5]
            + d[6] * m[6] + d[7] * m[7] + d[8])


@reordered_kernel
def _normal_equations(e: FloatArray, de: FloatArray, points: FloatArray, loss: FloatArray,
                      jtj: FloatArray, jtr: FloatArray) -> float:
    """
    Write the Cauchy-weighted normal equations of the Sampson distances; return the cost.

    ``points`` has the rows x, y, u, v, precision over c^2, and weight. The twenty sums are
    numbers, not entries of an array: only so the loop is vectorized.
    """
    xs, ys, us, vs = points[0], points[1], points[2], points[3]
    precision, weight = points[4], points[5]
    f = entries(e)
    d0, d1, d2, d3, d4 = (entries(de[0]), entries(de[1]), entries(de[2]), entries(de[3]),
                          entries(de[4]))
    b0 = b1 = b2 = b3 = b4 = a00 = a10 = a11 = a20 = a21 = a22 = 0.0
    a30 = a31 = a32 = a33 = a40 = a41 = a42 = a43 = a44 = 0.0
    for n in range(points.shape[1]):
        x, y, u, v = xs[n], ys[n], us[n], vs[n]
        l0, l1, m0, m1, c, q = epipolar(f, x, y, u, v)
        h = c / q
        large = 1.0 + h * c * precision[n]
        loss[n] = large
        scale = weight[n] * precision[n] / (q * large)
        s0, s1, r0, r1 = u - l0 * h, v - l1 * h, m0 * h, m1 * h
        m = (s0 * x - u * r0, s0 * y - u * r1, s0, s1 * x - v * r0, s1 * y - v * r1, s1, x - r0,
             y - r1)
        j0, j1, j2 = _product(d0, m), _product(d1, m), _product(d2, m)
        j3, j4 = _product(d3, m), _product(d4, m)
        w0, w1, w2, w3, w4 = scale * j0, scale * j1, scale * j2, scale * j3, scale * j4
        b0 += w0 * c
        b1 += w1 * c
        b2 += w2 * c
        b3 += w3 * c
        b4 += w4 * c
        a00 += w0 * j0
        a10 += w1 * j0
        a11 += w1 * j1
        a20 += w2 * j0
        a21 += w2 * j1
        a22 += w2 * j2
        a30 += w3 * j0
        a31 += w3 * j1
        a32 += w3 * j2
        a33 += w3 * j3
        a40 += w4 * j0
        a41 += w4 * j1
        a42 += w4 * j2
        a43 += w4 * j3
        a44 += w4 * j4
    jtr[0], jtr[1], jtr[2], jtr[3], jtr[4] = b0, b1, b2, b3, b4
    jtj[0, 0], jtj[1, 0], jtj[1, 1], jtj[2, 0], jtj[2, 1] = a00, a10, a11, a20, a21
    jtj[2, 2], jtj[3, 0], jtj[3, 1], jtj[3, 2], jtj[3, 3] = a22, a30, a31, a32, a33
    jtj[4, 0], jtj[4, 1], jtj[4, 2], jtj[4, 3], jtj[4, 4] = a40, a41, a42, a43, a44
    cost = 0.0
    for n in range(points.shape[1]):
        cost += weight[n] * math.log(loss[n])
    return cost


@inlined
def parallax(r: tuple[float, ...], t: tuple[float, ...], x: float, y: float, u: float,
             v: float) -> tuple[float, float, float, float, float]:
    """
    Measure the parallax of (u, v) along the epipolar line from where (x, y) lies at infinity.

    Returns the parallax (negative behind infinity), the direction of the line, and the point at
    infinity.
    """
    z = max(r[6] * x + r[7] * y + r[8], 1e-6)
    far_x = (r[0] * x + r[1] * y + r[2]) / z
    far_y = (r[3] * x + r[4] * y + r[5]) / z
    gx, gy = t[0] - t[2] * far_x, t[1] - t[2] * far_y
    norm = math.sqrt(gx * gx + gy * gy) + 1e-12
    gx = gx / norm
    gy = gy / norm
    return (u - far_x) * gx + (v - far_y) * gy, gx, gy, far_x, far_y


@inlined
def _add_behind(motion: FloatArray, points: FloatArray, behind: float, jtj: FloatArray,
                jtr: FloatArray) -> float:
    """Add the penalty on negative parallax to the normal equations; return its cost."""
    # Epipolar lines alone leave the turn along t nearly free.
    cost, j = 0.0, np.empty(3)
    r, s = entries(motion), (motion[3, 0], motion[3, 1], motion[3, 2])
    for n in range(points.shape[1]):
        p, gx, gy, x, y = parallax(r, s, points[0, n], points[1, n], points[2, n], points[3, n])
        if p < 0.0:
            precision = behind * points[4, n]
            loss = 1.0 + p * p * precision
            cost += points[5, n] * math.log(loss)
            scale = points[5, n] * precision / loss
            j[0] = gx * x * y + gy * (1.0 + y * y)
            j[1] = -gx * (1.0 + x * x) - gy * x * y
            j[2] = gx * y - gy * x
            for i in range(3):
                jtr[i] += scale * j[i] * p
                for k in range(i + 1):
                    jtj[i, k] += scale * j[i] * j[k]
    return cost


@inlined
def _step(motion: FloatArray, uv: FloatArray, jtj: FloatArray, jtr: FloatArray, damping: float,
          work: FloatArray, moved: FloatArray) -> bool:
    """Write the motion after one damped step; False if the equations are singular."""
    factor, step = work[:5], work[5]
    for i in range(5):
        for k in range(i + 1):
            factor[i, k] = jtj[i, k]
        factor[i, i] = jtj[i, i] * (1.0 + damping) + 1e-12
        step[i] = -jtr[i]
    if not solve_inplace(factor, step):
        return False
    angle = math.sqrt(step[0] ** 2 + step[1] ** 2 + step[2] ** 2)
    shrink = LARGEST_TURN / angle if angle > LARGEST_TURN else 1.0
    _turn(motion, step[0] * shrink, step[1] * shrink, step[2] * shrink, moved)
    norm = 0.0
    for i in range(3):
        moved[3, i] = motion[3, i] + step[3] * uv[0, i] + step[4] * uv[1, i]
        norm += moved[3, i] ** 2
    for i in range(3):
        moved[3, i] /= math.sqrt(norm)
    return True


@inner_kernel
def copy(source: FloatArray, target: FloatArray) -> None:
    """Copy a matrix; compiles in a tenth of the time of ``target[:] = source``."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel
def refine_rigid(motion: FloatArray, rays: FloatArray, members: IntArray, precision: FloatArray,
                 weight: FloatArray, behind: float, iterations: int) -> float:
    """
    Minimise the Cauchy loss of the Sampson distances over (R, t), in place; return the cost.

    Levenberg-Marquardt. ``motion`` (4, 3) is R with t below it; ``rays`` is (4, N); ``members``
    lists the points that count, ``precision`` (N,) is 1 / s^2 of their noise in the unit of the
    rays, ``weight`` (N,) multiplies their loss. ``behind`` weighs a squared parallax of the wrong
    sign against a squared distance; 0 leaves it out.
    """
    m = len(members)
    points, loss = np.empty((6, m)), np.empty(m)
    for i in range(m):
        n = members[i]
        for j in range(4):
            points[j, i] = rays[j, n]
        points[4, i] = precision[n] * CAUCHY_PRECISION
        points[5, i] = weight[n]
    e, de, uv, turned = np.empty((3, 3)), np.empty((5, 3, 3)), np.empty((2, 3)), np.empty((3, 3))
    equations, trial, work = np.zeros((6, 5)), np.empty((6, 5)), np.empty((6, 5))
    moved = np.empty((4, 3))
    copy(motion, moved)
    cost, damping, rejected = np.inf, 1e-2, 0
    for iteration in range(iterations + 1):
        essential(moved, e)
        _derivatives(moved, uv, turned, de)
        new_cost = _normal_equations(e, de, points, loss, trial, trial[5])
        if behind > 0.0:
            new_cost += _add_behind(moved, points, behind, trial, trial[5])
        if new_cost < cost:
            gain = cost - new_cost
            cost = new_cost
            copy(moved, motion)
            copy(trial, equations)
            damping = max(0.1 * damping, 1e-7)
            rejected = 0
            if gain < 1e-4 * cost + 1e-9:
                break
        else:
            damping *= 10.0
            rejected += 1
            _derivatives(motion, uv, turned, de)
        if (iteration == iterations or rejected > 3
                or not _step(motion, uv, equations, equations[5], damping, work, moved)):
            break
    return cost


@reordered_kernel
def rigid_cost(motion: FloatArray, rays: FloatArray, precision: FloatArray, cost: FloatArray,
               mirrored: FloatArray) -> None:
    """
    Write the cost of each point under (R, t), and under the mirrored (R, -t), in nats.

    The cost is (d / s)^2 / 2 of the Sampson distance d, plus that of a parallax of the wrong sign
    (a point behind the camera).
    """
    e = np.empty((3, 3))
    essential(motion, e)
    f, r, s = entries(e), entries(motion), (motion[3, 0], motion[3, 1], motion[3, 2])
    xs, ys, us, vs = rays[0], rays[1], rays[2], rays[3]
    for n in range(rays.shape[1]):
        x, y, u, v = xs[n], ys[n], us[n], vs[n]
        _, _, _, _, c, q = epipolar(f, x, y, u, v)
        p, _, _, _, _ = parallax(r, s, x, y, u, v)
        distance = 0.5 * c * c / q * precision[n]
        behind = min(0.5 * BEHIND_WEIGHT * p * p * precision[n], BEHIND_CAP)
        cost[n] = distance + (behind if p < 0.0 else 0.0)
        mirrored[n] = distance + (behind if p > 0.0 else 0.0)


@inner_kernel
def face_forward(motion: FloatArray, cost: FloatArray, mirrored: FloatArray, members: IntArray,
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
            motion[3, i] = -motion[3, i]
        return backward
    return forward


@inlined
def _aligning_rotation(rays: FloatArray, rotation: FloatArray) -> None:
    """Write the rotation that best turns the first rays into the second (Wahba's problem)."""
    b, a, c = np.zeros((3, 3)), np.empty(3), np.empty(3)
    a[2] = c[2] = 1.0
    for n in range(rays.shape[1]):
        a[0], a[1], c[0], c[1] = rays[0, n], rays[1, n], rays[2, n], rays[3, n]
        w = 1.0 / math.sqrt((1.0 + a[0] * a[0] + a[1] * a[1]) * (1.0 + c[0] * c[0] + c[1] * c[1]))
        for i in range(3):
            for j in range(3):
                b[i, j] += w * c[i] * a[j]
    # Horn: the quaternion is the top eigenvector of a 4 x 4 matrix (JOSA A, 1987).
    h, axes, values, off = np.empty((4, 4)), np.empty((4, 4)), np.empty(4), np.empty(4)
    h[0, 0] = b[0, 0] + b[1, 1] + b[2, 2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        h[i + 1, 0] = b[k, j] - b[j, k]
        h[i + 1, i + 1] = b[i, i] - b[j, j] - b[k, k]
        h[max(i, j) + 1, min(i, j) + 1] = b[i, j] + b[j, i]
    eigensystem(h, axes, values, off)
    top = 0
    for i in range(1, 4):
        if values[i] > values[top]:
            top = i
    q, v = axes[top, 0], axes[top]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rotation[i, i] = 2.0 * (q * q + v[i + 1] * v[i + 1]) - 1.0
        rotation[j, i] = 2.0 * (v[i + 1] * v[j + 1] + q * v[k + 1])
        rotation[i, j] = 2.0 * (v[i + 1] * v[j + 1] - q * v[k + 1])


@kernel
def fit_rigid(motion: FloatArray, rays: FloatArray, members: IntArray, precision: FloatArray,
              cap: float) -> None:
    """Fit (R, t) to the members without a start, in place."""
    m, few = len(members), min(len(members), SUBSET)
    part, part_precision = np.empty((4, few)), np.empty(few)
    everyone, weight = np.empty(few, np.int64), np.empty(rays.shape[1])
    for n in range(len(weight)):
        weight[n] = 1.0
    for i in range(few):
        n = members[i * m // few]
        everyone[i] = i
        for j in range(4):
            part[j, i] = rays[j, n]
        part_precision[i] = precision[n]
    aligned, trial = np.empty((3, 3)), np.empty((4, 3))
    cost, mirrored = np.empty(few), np.empty(few)
    _aligning_rotation(part, aligned)
    best = np.inf
    # Two rotations and three directions compete on a subset; all members refine the winner.
    for start in range(6):
        for i in range(3):
            for j in range(3):
                trial[i, j] = aligned[i, j] if start % 2 else 1.0 * (i == j)
            trial[3, i] = 1.0 * (i == start // 2)
        refine_rigid(trial, part, everyone, part_precision, weight, 0.0, START_STEPS)
        rigid_cost(trial, part, part_precision, cost, mirrored)
        value = face_forward(trial, cost, mirrored, everyone, cap)
        if value < best:
            best = value
            copy(trial, motion)
    refine_rigid(motion, rays, members, precision, weight, 0.0, FINAL_STEPS)


@kernel
def rigid_costs(motions: FloatArray, rays: FloatArray, precision: FloatArray, members: IntArray,
                cap: float) -> FloatArray:
    """Compute the capped cost (H, N) of every point; the members choose the sign of each t."""
    costs, mirrored = np.empty((len(motions), rays.shape[1])), np.empty(rays.shape[1])
    for h in range(len(motions)):
        rigid_cost(motions[h], rays, precision, costs[h], mirrored)
        face_forward(motions[h], costs[h], mirrored, members, cap)
        for n in range(rays.shape[1]):
            costs[h, n] = min(costs[h, n], cap)
    return costs
