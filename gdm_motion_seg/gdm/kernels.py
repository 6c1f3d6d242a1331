# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compiled inner loops of the search, all on D x D Gram matrices.

A cluster with memberships m has the Gram matrix G = sum m_n^2 v_n v_n^T, whose eigenvalues are the
squared singular values of the paper's A_k. Gram matrices are stored as rows of D (D + 1) / 2
monomials for products of whole batches, and as full matrices for changes by single points.
"""

import math

import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.compilation import inner_kernel, kernel, reordered_kernel
from gdm_motion_seg.gdm.eigen import eigensystem
from gdm_motion_seg.gdm.eigenvalues import eigenvalues
from gdm_motion_seg.gdm.empirical import GRAM_FLOOR

DECREASE = 1e-9
"""Smallest relative decrease of the global dimension that moves a point; less is rounding."""

NO_OUTLIER_ROW = 0
LINEAR_PRICE = 1
"""Row 0 of the memberships is the outlier group, at the price alpha m of derivative alpha."""
QUADRATIC_PRICE = 2
"""Row 0 is the outlier group, at the price alpha m^2 / 2 of derivative alpha m."""

BY_GLOBAL_DIMENSION = 0
"""Merge the pair after which the p-norm over all sets is lowest."""
BY_UNION = 1
"""Merge the pair whose union has the lowest empirical dimension."""
BY_GROWTH = 2
"""Merge the pair whose union exceeds the larger of its two dimensions by the least."""

Screen = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""The table of prepare_screen: axes, eigenvalues, scratch, table, weights, tails and sums."""

SCREEN_STEP = 1.6
"""Distance in log t between two nodes of the quadrature in :func:`prepare_screen`."""

SCREEN_NODES = 24
"""Number of nodes from GRAM_FLOOR / 100 to 10 in such steps."""

SCREEN_MARGIN = 1e-5
"""Assumed relative error of the quadrature, many times the actual one."""


@inner_kernel
def dimension_of_eigenvalues(values: FloatArray, epsilon: float, scale: float) -> float:
    """Compute the empirical dimension; eigenvalues below GRAM_FLOOR * scale are zero."""
    largest = 0.0
    for value in values:
        largest = max(largest, value)
    floor = GRAM_FLOOR * max(largest, scale)
    if largest <= floor:
        return 0.0
    delta = epsilon / (1.0 - epsilon) if epsilon < 1.0 else 0.0
    above = 0.0
    below = 0.0
    for value in values:
        if value > floor:
            log = 0.5 * math.log(value / largest)
            above += math.exp(epsilon * log)
            below += math.exp(delta * log)
    if epsilon == 1.0:
        return above
    return math.exp(math.log(above) / epsilon - math.log(below) / delta)


@kernel
def gradient_forms(grams: FloatArray, epsilon: float, p: float, dims: FloatArray,
                   forms: FloatArray) -> None:
    """
    Turn the Gram matrices of a batch into the quadratic forms of its gradient.

    For restart s and cluster k the derivative of GD by m_kn is ``m_kn * v_n^T W_sk v_n``; row (s,
    k) of ``forms`` becomes W_sk in monomials (off-diagonal entries doubled), row s of ``dims`` the
    empirical dimensions.
    """
    n_starts, n_clusters = dims.shape
    n_monomials = grams.shape[2]
    d = int((math.sqrt(8.0 * n_monomials + 1.0) - 1.0) / 2.0 + 0.5)
    gram = np.empty((d, d))
    axes = np.empty((d, d))
    values = np.empty(d)
    off = np.empty(d)
    slopes = np.empty(d)
    for s in range(n_starts):
        for k in range(n_clusters):
            _unpack(grams[s, k], gram)
            eigensystem(gram, axes, values, off)
            dims[s, k] = _slopes(values, epsilon, slopes)
            index = 0
            for i in range(d):
                for j in range(i, d):
                    entry = 0.0
                    for l in range(d):  # noqa: E741
                        entry += slopes[l] * axes[l, i] * axes[l, j]
                    forms[s, k, index] = entry if i == j else 2.0 * entry
                    index += 1
        norm = _p_norm(dims[s], p)
        for k in range(n_clusters):
            outer = (dims[s, k] / norm) ** (p - 1.0) if norm > 0.0 else 0.0
            for index in range(n_monomials):
                forms[s, k, index] *= outer


@inner_kernel
def _slopes(values: FloatArray, epsilon: float, slopes: FloatArray) -> float:
    """Write d(d-hat)/d(sigma) / sigma for each eigenvalue sigma^2; return d-hat."""
    largest = 0.0
    top = 0
    for i in range(len(values)):
        slopes[i] = 0.0
        if values[i] > largest:
            largest = values[i]
            top = i
    if largest <= 0.0:
        return 0.0
    delta = epsilon / (1.0 - epsilon) if epsilon < 1.0 else 0.0
    above = 0.0
    below = 0.0
    for i in range(len(values)):
        if values[i] > GRAM_FLOOR * largest:
            log = 0.5 * math.log(values[i] / largest)
            above += math.exp(epsilon * log)
            below += math.exp(delta * log)
    if epsilon == 1.0:
        dimension = above
    else:
        dimension = math.exp(math.log(above) / epsilon - math.log(below) / delta)
    for i in range(len(values)):
        if values[i] > GRAM_FLOOR * largest:
            log = 0.5 * math.log(values[i] / largest)
            share = math.exp(epsilon * log) / above
            if epsilon < 1.0:
                share -= math.exp(delta * log) / below
            elif i == top:
                share -= 1.0
            slopes[i] = dimension * share / values[i]
    return dimension


@inner_kernel
def _p_norm(dims: FloatArray, p: float) -> float:
    largest = 0.0
    for value in dims:
        largest = max(largest, value)
    if largest == 0.0:
        return 0.0
    total = 0.0
    for value in dims:
        total += (value / largest) ** p
    return float(largest * total ** (1.0 / p))


@inner_kernel
def _unpack(monomials: FloatArray, gram: FloatArray) -> None:
    d = gram.shape[0]
    index = 0
    for i in range(d):
        for j in range(i, d):
            gram[i, j] = monomials[index]
            gram[j, i] = monomials[index]
            index += 1


@kernel
def take_step(memberships: FloatArray, quadratic: FloatArray, alpha: float, outlier_rule: int,
              step: float) -> IntArray:
    """
    Move all restarts one step against their gradient and project back onto the simplex.

    ``quadratic`` holds v_n^T W_sk v_n; ``outlier_rule`` is NO_OUTLIER_ROW or one of the prices.
    Points without any membership are ignored. Returns the number of points that changed their
    cluster, for each restart.
    """
    n_starts, n_rows, n = memberships.shape
    first = 1 if outlier_rule != NO_OUTLIER_ROW else 0
    changes = np.zeros(n_starts, np.int64)
    gradient = np.empty((n_rows, n))
    totals = np.empty(n)
    squares = np.empty(n)
    column = np.empty(n_rows)
    for s in range(n_starts):
        m = memberships[s]
        totals[:] = 0.0
        squares[:] = 0.0
        for k in range(n_rows):
            for i in range(n):
                totals[i] += m[k, i]
        if outlier_rule == LINEAR_PRICE:
            gradient[0] = np.where(totals > 0.0, alpha, 0.0)
        elif outlier_rule == QUADRATIC_PRICE:
            gradient[0] = alpha * m[0]
        for k in range(first, n_rows):
            for i in range(n):
                gradient[k, i] = m[k, i] * quadratic[s, k - first, i]
        for k in range(n_rows):
            for i in range(n):
                squares[i] += gradient[k, i] * gradient[k, i]
        count = max(1, int(math.ceil(0.1 * np.count_nonzero(totals))))
        rho = np.sqrt(np.partition(squares, n - count)[n - count:]).mean()
        if rho == 0.0:
            continue
        scale = step / rho
        for i in range(n):
            if totals[i] == 0.0:
                continue
            before = 0
            for k in range(n_rows):
                column[k] = m[k, i] - scale * gradient[k, i]
                if m[k, i] > m[before, i]:
                    before = k
            _project(column)
            after = 0
            for k in range(n_rows):
                m[k, i] = column[k]
                if column[k] > column[after]:
                    after = k
            if after != before:
                changes[s] += 1
    return changes


@kernel
def _project(column: FloatArray) -> None:
    """Project one vector onto the probability simplex by discarding entries below the shift."""
    n = len(column)
    total = 0.0
    for value in column:
        total += value
    count = n
    shift = (total - 1.0) / count
    while True:
        total = 0.0
        kept = 0
        for value in column:
            if value > shift:
                total += value
                kept += 1
        if kept == count:
            break
        count = kept
        shift = (total - 1.0) / count
    for k in range(n):
        column[k] = max(column[k] - shift, 0.0)


@inner_kernel
def _add_square(gram: FloatArray, vector: FloatArray, sign: float) -> None:
    """Add sign v v^T to a Gram matrix, in place."""
    d = len(vector)
    for i in range(d):
        f = sign * vector[i]
        for j in range(d):
            gram[i, j] += f * vector[j]


@kernel
def new_screen(d: int) -> Screen:
    """Make the empty record of a cluster that :func:`prepare_screen` fills."""
    return (np.zeros((d, d)), np.zeros(d), np.zeros(d), np.zeros((4 + SCREEN_NODES, d)),
            np.zeros((2, SCREEN_NODES)), np.zeros((2, 4)), np.zeros(3))


@kernel
def prepare_screen(gram: FloatArray, epsilon: float, screen: Screen) -> None:
    """
    Tabulate a cluster, so that adding or removing a point takes a few sums and logarithms.

    The empirical dimension needs tr G^a for a = epsilon / 2 and a = delta / 2. With h(t) = v^T (G
    + t)^-1 v,

        tr (G + v v^T)^a - tr G^a = a sin(pi a) / pi * integral of t^(a-1) log(1 + h(t)) over t >
        0,

    The trapezoidal rule in log t gives the integral to seven digits with a node every 1.6. The
    parts below the first and above the last node are computed in closed form from the expansion
    of h.
    """
    axes, values, off, table, weights, tails, sums = screen
    d = gram.shape[0]
    eigensystem(gram, axes, values, off)
    largest = 0.0
    for value in values:
        largest = max(largest, value)
    powers = (0.5 * epsilon, 0.5 * epsilon / (1.0 - epsilon))
    floor = GRAM_FLOOR * largest
    sums[:] = 0.0
    if largest == 0.0:
        return
    smallest = largest
    for i in range(d):
        kept = values[i] > floor
        values[i] = max(values[i], floor)
        smallest = min(smallest, values[i])
        for row in range(2):
            power = values[i] ** powers[row]
            sums[row] += power if kept else 0.0
            table[row, i] = powers[row] * power / values[i] if kept else 0.0
        table[2, i] = 1.0 / values[i]
        table[3, i] = table[2, i] * table[2, i]
    low = math.log(0.01 * smallest)
    n_nodes = int(math.ceil((math.log(10.0 * largest) - low) / SCREEN_STEP)) + 1
    sums[2] = n_nodes
    for q in range(n_nodes):
        node = math.exp(low + SCREEN_STEP * q)
        for i in range(d):
            table[4 + q, i] = 1.0 / (values[i] + node)
    high = low + SCREEN_STEP * (n_nodes - 1)
    for row in range(2):
        a = powers[row]
        factor = SCREEN_STEP * a * math.sin(math.pi * a) / math.pi
        for q in range(n_nodes):
            weights[row, q] = factor * math.exp(a * (low + SCREEN_STEP * q))
        tails[row, 0] = factor * math.exp(a * low) / math.expm1(a * SCREEN_STEP)
        tails[row, 1] = -factor * math.exp((a + 1.0) * low) / math.expm1((a + 1.0) * SCREEN_STEP)
        tails[row, 2] = factor * math.exp((a - 1.0) * high) / math.expm1((1.0 - a) * SCREEN_STEP)
        tails[row, 3] = -factor * math.exp((a - 2.0) * high) / math.expm1((2.0 - a) * SCREEN_STEP)


@inner_kernel
def _dimension_of_sums(sum_s: float, sum_t: float, epsilon: float) -> float:
    if sum_s <= 0.0 or sum_t <= 0.0:
        return 0.0
    return math.exp((math.log(sum_s) - math.log(sum_t) * (1.0 - epsilon)) / epsilon)


@reordered_kernel
def _squared_coordinates(axes: FloatArray, vector: FloatArray, squares: FloatArray) -> None:
    d = len(vector)
    for i in range(d):
        z = 0.0
        for j in range(d):
            z += axes[i, j] * vector[j]
        squares[i] = z * z


@reordered_kernel
def least_after_leaving(vector: FloatArray, epsilon: float, screen: Screen,
                        squares: FloatArray) -> float:
    """
    Bound the empirical dimension of a cluster from below after one of its points has left.

    With the leverage h(0) of the point, -log(1 - h) lies between h and h * (-log(1 - h(0)) /
    h(0)), and the integral of h alone is known: it is the derivative of tr G^a.
    """
    axes, values, off, table, weights, tails, sums = screen
    _squared_coordinates(axes, vector, squares)
    change_s = 0.0
    change_t = 0.0
    leverage = 0.0
    for i in range(len(squares)):
        change_s += squares[i] * table[0, i]
        change_t += squares[i] * table[1, i]
        leverage += squares[i] * table[2, i]
    if leverage > 0.99:
        return 0.0
    if leverage > 0.0:
        change_s *= -math.log1p(-leverage) / leverage
    return _dimension_of_sums(sums[0] - change_s, sums[1] - change_t, epsilon)


@reordered_kernel
def least_after_joining(vector: FloatArray, epsilon: float, screen: Screen,
                        squares: FloatArray) -> float:
    """
    Estimate a lower bound of the empirical dimension of a cluster after a point has joined it.

    The quadrature of :func:`prepare_screen` has an error below 1e-6; SCREEN_MARGIN is subtracted.
    """
    axes, values, off, table, weights, tails, sums = screen
    if sums[0] == 0.0:
        return 0.0
    _squared_coordinates(axes, vector, squares)
    d = len(squares)
    length = 0.0
    first = 0.0
    slope = 0.0
    last = 0.0
    for i in range(d):
        length += squares[i]
        first += squares[i] * table[2, i]
        slope += squares[i] * table[3, i]
        last += squares[i] * values[i]
    ends = (math.log1p(first), slope / (1.0 + first), length, last + 0.5 * length * length)
    sum_s = sums[0]
    sum_t = sums[1]
    for end in range(4):
        sum_s += tails[0, end] * ends[end]
        sum_t += tails[1, end] * ends[end]
    for q in range(int(sums[2])):
        h = 0.0
        for i in range(d):
            h += squares[i] * table[4 + q, i]
        log = math.log(1.0 + h)
        sum_s += weights[0, q] * log
        sum_t += weights[1, q] * log
    return _dimension_of_sums(sum_s, sum_t, epsilon) * (1.0 - SCREEN_MARGIN)


@inner_kernel
def _dimension_with(gram: FloatArray, vector: FloatArray, sign: float, epsilon: float,
                    scale: float, work: FloatArray, values: FloatArray, off: FloatArray,
                    changed: FloatArray) -> float:
    """Compute the empirical dimension of a cluster after adding or removing a point."""
    changed[:] = gram
    _add_square(changed, vector, sign)
    eigenvalues(changed, work, values, off)
    return dimension_of_eigenvalues(values, epsilon, scale)


@inner_kernel
def _cost(power_sum: float, dimension_sum: float, d: int, p: float, tie_weight: float) -> float:
    """Compute GD plus tie_weight times the sum of dimensions; power_sum adds (d-hat / D)^p."""
    cost = d * max(power_sum, 0.0) ** (1.0 / p)
    return float(cost + tie_weight * dimension_sum if tie_weight > 0.0 else cost)


@kernel
def reassign(vectors: FloatArray, labels: IntArray, n_clusters: int, epsilon: float, p: float,
             tie_weight: float, alpha: float, with_outliers: bool, n_sweeps: int) -> int:
    """
    Move single points, in order, while that lowers the cost (the last stage of Algorithm 1).

    The cost is the global dimension plus ``tie_weight`` times the sum of the empirical dimensions.
    ``labels`` is changed in place; label -1 is the outlier group if ``with_outliers`` (each costs
    alpha), and fixed otherwise. Returns the number of sweeps used; it ends when every point has
    been tried since the last move.

    Most points do not move. The effect of a rank-one change on a cluster is estimated first
    (``prepare_screen``); an eigenproblem is solved only for moves that may lower the cost.
    """
    n, d = vectors.shape
    grams = np.zeros((n_clusters, d, d))
    dims = np.zeros(n_clusters)
    powers = np.zeros(n_clusters)
    counts = np.zeros(n_clusters, np.int64)
    scales = np.zeros(n_clusters)
    screens = [new_screen(d) for _ in range(n_clusters)]
    joins = np.zeros(n_clusters)
    changed = np.empty((d, d))
    work = np.empty((d, d))
    values = np.empty(d)
    off = np.empty(d)
    squares = np.empty(d)
    # The integrals need powers below 1 of the eigenvalues: delta / 2 < 1.
    screened = epsilon < 0.66
    unmoved = 0
    for sweep in range(n_sweeps):
        grams[:] = 0.0
        counts[:] = 0
        for i in range(n):
            if labels[i] >= 0:
                _add_square(grams[labels[i]], vectors[i], 1.0)
                counts[labels[i]] += 1
        stale = np.ones(n_clusters, np.bool_)
        total = 0.0
        dim_total = 0.0
        now = 0.0
        for i in range(n):
            if unmoved == n:
                return sweep + 1
            unmoved += 1
            own = labels[i]
            if own < 0 and not with_outliers:
                continue
            for k in range(n_clusters):
                if stale[k]:
                    eigenvalues(grams[k], work, values, off)
                    scales[k] = max(values.max(), 0.0)
                    dims[k] = dimension_of_eigenvalues(values, epsilon, 0.0)
                    powers[k] = (dims[k] / d) ** p
                    if screened:
                        prepare_screen(grams[k], epsilon, screens[k])
                    stale[k] = False
                    total = powers.sum()
                    dim_total = dims.sum()
                    now = _cost(total, dim_total, d, p, tie_weight)
            best = (now if own >= 0 else now + alpha) * (1.0 - DECREASE)
            vector = vectors[i]
            if screened:
                rest = total
                dim_rest = dim_total
                if own >= 0:
                    left = least_after_leaving(vector, epsilon, screens[own], squares)
                    rest += (left / d) ** p - powers[own]
                    dim_rest += left - dims[own]
                hopeless = not (with_outliers and own >= 0 and alpha + _cost(
                    rest, dim_rest, d, p, tie_weight) < best)
                for k in range(n_clusters):
                    if k != own:
                        joins[k] = least_after_joining(vector, epsilon, screens[k], squares)
                        cost = _cost(rest - powers[k] + (joins[k] / d) ** p,
                                     dim_rest - dims[k] + joins[k], d, p, tie_weight)
                        hopeless = hopeless and cost >= best
                if hopeless:
                    continue
            rest = total
            dim_rest = dim_total
            if own >= 0:
                left = 0.0
                if counts[own] > 1:
                    left = _dimension_with(grams[own], vector, -1.0, epsilon, scales[own], work,
                                           values, off, changed)
                rest += (left / d) ** p - powers[own]
                dim_rest += left - dims[own]
            target = own
            if with_outliers and own >= 0:
                cost = _cost(rest, dim_rest, d, p, tie_weight) + alpha
                if cost < best:
                    best = cost
                    target = -1
            for k in range(n_clusters):
                if k == own:
                    continue
                if screened and _cost(rest - powers[k] + (joins[k] / d) ** p,
                                      dim_rest - dims[k] + joins[k], d, p, tie_weight) >= best:
                    continue
                joined = _dimension_with(grams[k], vector, 1.0, epsilon, 0.0, work, values, off,
                                         changed)
                cost = _cost(rest - powers[k] + (joined / d) ** p, dim_rest - dims[k] + joined, d,
                             p, tie_weight)
                if cost < best:
                    best = cost
                    target = k
            if target == own:
                continue
            unmoved = 0
            labels[i] = target
            if own >= 0:
                counts[own] -= 1
                if counts[own] == 0:
                    grams[own] = 0.0
                else:
                    _add_square(grams[own], vector, -1.0)
                stale[own] = True
            if target >= 0:
                counts[target] += 1
                _add_square(grams[target], vector, 1.0)
                stale[target] = True
        if unmoved == n:
            return sweep + 1
    return n_sweeps


@inner_kernel
def _dimension_of_pair(v: FloatArray, w: FloatArray, epsilon: float) -> float:
    """Compute the empirical dimension of two vectors, whose Gram matrix needs no eigensolver."""
    vv = 0.0
    ww = 0.0
    vw = 0.0
    for i in range(len(v)):
        vv += v[i] * v[i]
        ww += w[i] * w[i]
        vw += v[i] * w[i]
    if vv + ww == 0.0:
        return 0.0
    root = math.sqrt((vv - ww) * (vv - ww) + 4.0 * vw * vw)
    largest = 0.5 * (vv + ww + root)
    smallest = (vv * ww - vw * vw) / largest
    if smallest <= GRAM_FLOOR * largest:
        return 1.0
    log = 0.5 * math.log(smallest / largest)
    above = 1.0 + math.exp(epsilon * log)
    if epsilon == 1.0:
        return above
    delta = epsilon / (1.0 - epsilon)
    return math.exp(math.log(above) / epsilon - math.log1p(math.exp(delta * log)) / delta)


@reordered_kernel
def _inner_products(vectors: FloatArray, members: IntArray, size: int,
                    products: FloatArray) -> None:
    for i in range(size):
        v = vectors[members[i]]
        for j in range(i + 1):
            w = vectors[members[j]]
            product = 0.0
            for c in range(len(v)):
                product += v[c] * w[c]
            products[i, j] = product


@kernel
def agglomerate(vectors: FloatArray, n_clusters: int, epsilon: float, p: float,
                draws: FloatArray, criterion: int) -> IntArray:
    """
    Merge sets, starting from single points, until n_clusters are left (the start of Algorithm 1).

    ``draws`` (N - K, pairs, 2) are uniform random numbers in [0, 1) that choose the pairs of each
    merge; ``criterion`` is BY_GLOBAL_DIMENSION, BY_UNION or BY_GROWTH. Returns the labels.
    """
    n, d = vectors.shape
    grams = np.zeros((n, d, d))
    dims = np.zeros(n)
    sizes = np.ones(n, np.int64)
    follower = np.full(n, -1)
    last = np.arange(n)
    slots = np.arange(n)
    members = np.empty(d, np.int64)
    small = np.empty((d, d))
    work = np.empty((d, d))
    values = np.empty(d)
    off = np.empty(d)
    for i in range(n):
        _add_square(grams[i], vectors[i], 1.0)
        dims[i] = 1.0 if vectors[i].any() else 0.0
    alive = n
    for merge in range(n - n_clusters):
        best = np.inf
        best_dim = 0.0
        best_a = 0
        best_b = 1
        for pair in range(draws.shape[1]):
            a = int(draws[merge, pair, 0] * alive)
            b = int(draws[merge, pair, 1] * (alive - 1))
            if b >= a:
                b += 1
            size = sizes[slots[a]] + sizes[slots[b]]
            if size == 2:
                merged = _dimension_of_pair(vectors[slots[a]], vectors[slots[b]], epsilon)
            elif size < d:
                # With fewer points than dimensions, the matrix of inner products is smaller.
                count = 0
                for root in (slots[a], slots[b]):
                    point = root
                    while point >= 0:
                        members[count] = point
                        count += 1
                        point = follower[point]
                _inner_products(vectors, members, size, small)
                eigenvalues(small[:size, :size], work[:size, :size], values[:size], off[:size])
                merged = dimension_of_eigenvalues(values[:size], epsilon, 0.0)
            else:
                for i in range(d):
                    for j in range(i + 1):
                        small[i, j] = grams[slots[a], i, j] + grams[slots[b], i, j]
                eigenvalues(small, work, values, off)
                merged = dimension_of_eigenvalues(values, epsilon, 0.0)
            dim_a = dims[slots[a]]
            dim_b = dims[slots[b]]
            if criterion == BY_UNION:
                value = merged
            elif criterion == BY_GROWTH:
                value = merged - max(dim_a, dim_b)
            else:
                # The other sets contribute the same to every pair.
                value = (merged / d) ** p - (dim_a / d) ** p - (dim_b / d) ** p
            if value < best:
                best = value
                best_dim = merged
                best_a = a
                best_b = b
        # In ascending order, so that (a, b) and (b, a) give the same sets.
        best_a, best_b = min(best_a, best_b), max(best_a, best_b)
        keep = slots[best_a]
        gone = slots[best_b]
        grams[keep] += grams[gone]
        dims[keep] = best_dim
        sizes[keep] += sizes[gone]
        follower[last[keep]] = gone
        last[keep] = last[gone]
        alive -= 1
        slots[best_b] = slots[alive]
    labels = np.empty(n, np.int64)
    for k in range(n_clusters):
        point = slots[k]
        while point >= 0:
            labels[point] = k
            point = follower[point]
    return labels
