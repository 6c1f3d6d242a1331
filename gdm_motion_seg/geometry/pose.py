# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The refinement of (R, t) with weights and a one-sided penalty on negative parallax; compiled."""

import math

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry._linalg import cholesky_inplace, cholesky_solve_inplace
from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray
from gdm_motion_seg.geometry.rigid import (
    _derivatives, _essential, _tangents, _turn, CAUCHY_PRECISION, LARGEST_TURN)


@kernel
def sampson2(e: FloatArray, a0: float, a1: float, b0: float, b1: float) -> float:
    """Return the squared Sampson distance of the rays a and b under E."""
    l0 = e[0, 0] * a0 + e[0, 1] * a1 + e[0, 2]
    l1 = e[1, 0] * a0 + e[1, 1] * a1 + e[1, 2]
    l2 = e[2, 0] * a0 + e[2, 1] * a1 + e[2, 2]
    m0 = e[0, 0] * b0 + e[1, 0] * b1 + e[2, 0]
    m1 = e[0, 1] * b0 + e[1, 1] * b1 + e[2, 1]
    c = b0 * l0 + b1 * l1 + l2
    return c * c / (l0 * l0 + l1 * l1 + m0 * m0 + m1 * m1 + 1e-18)


@kernel
def parallax(r: FloatArray, t: FloatArray, a0: float, a1: float, b0: float, b1: float
             ) -> tuple[float, float, float, float, float]:
    """
    Return the parallax of b along its epipolar line, the line's direction, and where it begins.

    The line begins where the point would lie if it were infinitely far away. A static point has
    no negative parallax.
    """
    z = max(r[2, 0] * a0 + r[2, 1] * a1 + r[2, 2], 1e-6)
    x = (r[0, 0] * a0 + r[0, 1] * a1 + r[0, 2]) / z
    y = (r[1, 0] * a0 + r[1, 1] * a1 + r[1, 2]) / z
    gx, gy = t[0] - t[2] * x, t[1] - t[2] * y
    length = math.sqrt(gx * gx + gy * gy) + 1e-12
    gx, gy = gx / length, gy / length
    return (b0 - x) * gx + (b1 - y) * gy, gx, gy, x, y


@kernel
def pose_cost(r: FloatArray, t: FloatArray, e: FloatArray, y1: FloatArray, y2: FloatArray,
              members: IntArray, weight: FloatArray, precision: FloatArray,
              behind: float) -> float:
    """Sum the weighted Cauchy losses of Sampson distances and, if asked, negative parallaxes."""
    cost = 0.0
    for n in members:
        pr = CAUCHY_PRECISION * precision[n]
        d2 = sampson2(e, y1[n, 0], y1[n, 1], y2[n, 0], y2[n, 1])
        loss = 1.0 + pr * d2
        if behind > 0.0:
            p = min(0.0, parallax(r, t, y1[n, 0], y1[n, 1], y2[n, 0], y2[n, 1])[0])
            loss *= 1.0 + behind * pr * p * p
        cost += weight[n] * math.log(loss)
    return cost


@kernel
def refine_pose(r: FloatArray, t: FloatArray, y1: FloatArray, y2: FloatArray, members: IntArray,
                weight: FloatArray, precision: FloatArray, rounds: int, behind: float) -> float:
    """
    Minimise the cost over (R, t) by Levenberg-Marquardt, in place; return the cost.

    The one-sided penalty fixes what epipolar lines leave nearly free: the turn along t.
    """
    e, de, turned = np.empty((3, 3)), np.empty((5, 3, 3)), np.empty((3, 3))
    u, v, t_new = np.empty(3), np.empty(3), np.empty(3)
    jtj, jtr, j = np.empty((5, 5)), np.empty(5), np.empty(5)
    factor, step, g = np.empty((5, 5)), np.empty(5), np.empty((3, 3))
    _essential(r, t, e)
    damping, cost = 1e-3, pose_cost(r, t, e, y1, y2, members, weight, precision, behind)
    for _ in range(rounds):
        _tangents(t, u, v)
        _derivatives(r, t, u, v, turned, de)
        jtj[:] = 0.0
        jtr[:] = 0.0
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
            res, h, pr = c * scale, c / q, CAUCHY_PRECISION * precision[n]
            # g / sqrt(q) is the derivative of the distance by E.
            s0, s1, v0, v1 = l0 * h, l1 * h, m0 * h, m1 * h
            g[0, 0] = (b0 - s0) * a0 - b0 * v0
            g[0, 1] = (b0 - s0) * a1 - b0 * v1
            g[0, 2] = b0 - s0
            g[1, 0] = (b1 - s1) * a0 - b1 * v0
            g[1, 1] = (b1 - s1) * a1 - b1 * v1
            g[1, 2] = b1 - s1
            g[2, 0] = a0 - v0
            g[2, 1] = a1 - v1
            g[2, 2] = 1.0
            w = weight[n] * pr / (1.0 + res * res * pr)
            for i in range(5):
                total = 0.0
                for row in range(3):
                    for k in range(3):
                        total += de[i, row, k] * g[row, k]
                j[i] = total * scale
            for i in range(5):
                jtr[i] += w * j[i] * res
                for k in range(i + 1):
                    jtj[i, k] += w * j[i] * j[k]
            if behind > 0.0:
                p, gx, gy, x, y = parallax(r, t, a0, a1, b0, b1)
                if p < 0.0:
                    w = weight[n] * behind * pr / (1.0 + p * p * behind * pr)
                    j[0] = gx * x * y + gy * (1.0 + y * y)
                    j[1] = -gx * (1.0 + x * x) - gy * x * y
                    j[2] = gx * y - gy * x
                    for i in range(3):
                        jtr[i] += w * j[i] * p
                        for k in range(i + 1):
                            jtj[i, k] += w * j[i] * j[k]
        better, new = False, cost
        for _ in range(4):
            for i in range(5):
                for k in range(i + 1):
                    factor[i, k] = jtj[i, k]
                factor[i, i] = jtj[i, i] * (1.0 + damping) + 1e-10
                step[i] = -jtr[i]
            if cholesky_inplace(factor):
                cholesky_solve_inplace(factor, step)
                angle = math.sqrt(step[0] ** 2 + step[1] ** 2 + step[2] ** 2)
                shrink = min(1.0, LARGEST_TURN / angle) if angle > 0.0 else 1.0
                _turn(r, step[0] * shrink, step[1] * shrink, step[2] * shrink, turned)
                norm = 0.0
                for i in range(3):
                    t_new[i] = t[i] + step[3] * u[i] + step[4] * v[i]
                    norm += t_new[i] * t_new[i]
                for i in range(3):
                    t_new[i] /= math.sqrt(norm)
                _essential(turned, t_new, e)
                new = pose_cost(turned, t_new, e, y1, y2, members, weight, precision, behind)
                if new < cost:
                    better = True
                    break
            damping *= 10.0
        if not better:
            break
        r[:] = turned
        t[:] = t_new
        done = cost - new < 1e-4 * cost
        cost, damping = new, max(damping * 0.1, 1e-7)
        if done:
            break
    return cost
