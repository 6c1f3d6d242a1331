# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Algorithm 1 of the paper, transcribed literally: an SVD of every N x D matrix A_k, all loops.

It is slow. The engine must give the same results, and ``gdm-motion-seg bench engine``
measures how much faster. It shares no code with the engine.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest are rounding (the engine's floor)."""

DECREASE = 1e-9
"""A relative decrease of the global dimension by less than this is rounding."""


def spectrum(vectors: Floats) -> Floats:
    """Return the singular values that are larger than rounding errors."""
    if len(vectors) == 0:
        return np.zeros(0)
    sigma = np.linalg.svd(vectors, compute_uv=False)
    return np.asarray(sigma[sigma > RANK_TOLERANCE * sigma[0]])


def empirical_dimension(vectors: Floats, epsilon: float) -> float:
    """Divide the epsilon-norm of the singular values by their delta-norm."""
    sigma = spectrum(vectors)
    if len(sigma) == 0:
        return 0.0
    above = float(np.sum(sigma ** epsilon)) ** (1 / epsilon)
    if epsilon == 1:
        return float(above / sigma[0])
    delta = epsilon / (1 - epsilon)
    return float(above / np.sum(sigma ** delta) ** (1 / delta))


def global_dimension(vectors: Floats, memberships: Floats, epsilon: float, p: float) -> float:
    """Take the p-norm of the dimensions of all A_k, the data scaled by the memberships."""
    dimensions = [empirical_dimension(m[:, None] * vectors, epsilon) for m in memberships]
    return float(np.sum(np.array(dimensions) ** p) ** (1 / p))


def memberships_of(labels: Labels, n_clusters: int) -> Floats:
    """Encode a hard partition as a membership matrix."""
    return np.asarray(labels == np.arange(n_clusters)[:, None], np.float64)


def agglomerative_start(vectors: Floats, n_clusters: int, epsilon: float, p: float,
                        draws: Floats, criterion: str = 'union') -> Labels:
    """
    Merge, of each handful of random pairs, the best one.

    It is the one whose union has the lowest dimension ('union'), the one that gives the lowest
    global dimension of all sets ('global'), or the one whose union exceeds the larger of its two
    dimensions by the least ('growth').
    """
    sets = [[n] for n in range(len(vectors))]
    dimensions = [empirical_dimension(vectors[s], epsilon) for s in sets]
    for merge in range(len(vectors) - n_clusters):
        powers = np.array(dimensions) ** p
        best = np.inf
        for first, second in draws[merge]:
            a = int(first * len(sets))
            b = int(second * (len(sets) - 1))
            b += b >= a
            a, b = min(a, b), max(a, b)
            merged = empirical_dimension(vectors[sets[a] + sets[b]], epsilon)
            # The other sets add the same to all pairs; rounding could hide the difference.
            value = {'global': merged ** p - powers[a] - powers[b], 'union': merged,
                     'growth': merged - max(dimensions[a], dimensions[b])}[criterion]
            if value < best:
                best, keep, gone, dimension = value, a, b, merged
        sets[keep] += sets[gone]
        dimensions[keep] = dimension
        sets[gone], dimensions[gone] = sets[-1], dimensions[-1]
        sets.pop()
        dimensions.pop()
    labels = np.empty(len(vectors), int)
    for k, members in enumerate(sets):
        labels[members] = k
    return labels


def gradient(vectors: Floats, memberships: Floats, epsilon: float, p: float) -> Floats:
    """Evaluate Theorem 3 for every membership."""
    parts = [np.linalg.svd((m[:, None] * vectors).T, full_matrices=False) for m in memberships]
    dimensions = np.array([empirical_dimension(m[:, None] * vectors, epsilon)
                           for m in memberships])
    norm = np.sum(dimensions ** p) ** (1 / p)
    result = np.zeros_like(memberships)
    for k, (u, sigma, vt) in enumerate(parts):
        if sigma[0] == 0:
            continue
        kept = sigma > RANK_TOLERANCE * sigma[0]
        u, sigma, vt = u[:, kept], sigma[kept], vt[kept]
        above = np.sum(sigma ** epsilon) ** (1 / epsilon)
        if epsilon == 1:
            below = sigma[0]
            d = 1 / below - np.where(np.arange(len(sigma)) == 0, above / below ** 2, 0)
        else:
            delta = epsilon / (1 - epsilon)
            below = np.sum(sigma ** delta) ** (1 / delta)
            d = (above ** (1 - epsilon) / below * sigma ** (epsilon - 1)
                 - above * below ** (1 - delta) / below ** 2 * sigma ** (delta - 1))
        factor = dimensions[k] ** (p - 1) * norm ** (1 - p)
        for n in range(len(vectors)):
            result[k, n] = vt[:, n] @ (factor * d * (u.T @ vectors[n]))
    return result


def project(column: Floats) -> Floats:
    """Project a vector onto the probability simplex."""
    descending = np.sort(column)[::-1]
    sums = np.cumsum(descending) - 1
    support = np.nonzero(descending * np.arange(1, len(column) + 1) > sums)[0][-1]
    return np.asarray(np.maximum(column - sums[support] / (support + 1), 0))


def descend(vectors: Floats, memberships: Floats, epsilon: float, p: float, n2: int) -> Floats:
    """Take n2 steps of projected gradient descent."""
    memberships = memberships.copy()
    for _ in range(n2):
        slope = gradient(vectors, memberships, epsilon, p)
        lengths = np.sort(np.linalg.norm(slope, axis=0))[::-1]
        rho = np.mean(lengths[:int(np.ceil(0.1 * len(vectors)))])
        if rho > 0:
            memberships -= 0.3 / rho * slope
        for n in range(len(vectors)):
            memberships[:, n] = project(memberships[:, n])
    return memberships


def reassign(vectors: Floats, labels: Labels, n_clusters: int, epsilon: float, p: float,
             n3: int) -> Labels:
    """Try every point in every cluster, n3 times over; keep what lowers the global dimension."""
    labels = labels.copy()
    now = global_dimension(vectors, memberships_of(labels, n_clusters), epsilon, p)
    for _ in range(n3):
        for n in range(len(vectors)):
            own = labels[n]
            best, target = now - DECREASE * now, own
            for k in range(n_clusters):
                if k == own:
                    continue
                labels[n] = k
                value = global_dimension(vectors, memberships_of(labels, n_clusters), epsilon, p)
                if value < best:
                    best, target = value, k
            labels[n] = target
            if target != own:
                now = best
    return labels


def algorithm1(vectors: Floats, n_clusters: int, epsilon: float, p: float, n2: int, n3: int,
               starts: Iterable[Labels]) -> tuple[Labels, float, Floats]:
    """Run every start; return labels and global dimension of the best, and those of every run."""
    runs = []
    for labels in starts:
        memberships = descend(vectors, memberships_of(labels, n_clusters), epsilon, p, n2)
        labels = reassign(vectors, memberships.argmax(axis=0), n_clusters, epsilon, p, n3)
        value = global_dimension(vectors, memberships_of(labels, n_clusters), epsilon, p)
        runs.append((value, labels))
    values = [value for value, _ in runs]
    best = int(np.argmin(values))
    return runs[best][1], runs[best][0], np.array(values)
