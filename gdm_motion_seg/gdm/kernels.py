# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled inner loops of the search."""

from numba import njit
import numpy as np


@njit(cache=True)
def spectrum_dimension(eigenvalues, epsilon, floor):
    """Compute the empirical dimension from the eigenvalues of a Gram matrix."""
    largest = eigenvalues.max()
    if largest <= 0.0:
        return 0.0
    above = 0.0
    below = 0.0
    delta = epsilon / (1.0 - epsilon) if epsilon < 1.0 else 1.0
    for value in eigenvalues:
        if value > floor * largest:
            log = 0.5 * np.log(value / largest)
            above += np.exp(epsilon * log)
            below += np.exp(delta * log)
    if epsilon == 1.0:
        return above
    return above ** (1.0 / epsilon) / below ** (1.0 / delta)


@njit(cache=True)
def gram_dimension(gram, epsilon, floor):
    """Compute the empirical dimension of a set from its Gram matrix."""
    return spectrum_dimension(np.linalg.eigvalsh(gram), epsilon, floor)


@njit(cache=True)
def reassign(vectors, labels, n_clusters, epsilon, p, alpha, with_outliers, sweeps, floor):
    """Move single points while that lowers the global dimension; return the number of sweeps used."""
    n, d = vectors.shape
    grams = np.zeros((n_clusters, d, d))
    for i in range(n):
        if labels[i] >= 0:
            grams[labels[i]] += np.outer(vectors[i], vectors[i])
    dims = np.zeros(n_clusters)
    for k in range(n_clusters):
        dims[k] = gram_dimension(grams[k], epsilon, floor)
    used = 0
    for _ in range(sweeps):
        used += 1
        moved = False
        for i in range(n):
            own = labels[i]
            if own < 0 and not with_outliers:
                continue
            square = np.outer(vectors[i], vectors[i])
            powers = dims ** p
            total = powers.sum()
            best = total ** (1.0 / p) + (alpha if own < 0 else 0.0)
            best -= 1e-12 * (1.0 + best)
            target = own
            left = 0.0
            if own >= 0:
                left = gram_dimension(grams[own] - square, epsilon, floor)
                rest = total - powers[own] + left ** p
                if with_outliers and rest ** (1.0 / p) + alpha < best:
                    best = rest ** (1.0 / p) + alpha
                    target = -1
            else:
                rest = total
            entered = 0.0
            for k in range(n_clusters):
                if k == own:
                    continue
                joined = gram_dimension(grams[k] + square, epsilon, floor)
                value = max(rest - powers[k] + joined ** p, 0.0) ** (1.0 / p)
                if value < best:
                    best = value
                    target = k
                    entered = joined
            if target != own:
                moved = True
                if own >= 0:
                    grams[own] -= square
                    dims[own] = left
                if target >= 0:
                    grams[target] += square
                    dims[target] = entered
                labels[i] = target
        if not moved:
            break
    return used


@njit(cache=True)
def agglomerate(vectors, n_clusters, epsilon, p, n_pairs, rng, floor):
    """Merge sets, starting from single points, until n_clusters are left; return labels."""
    n, d = vectors.shape
    grams = np.empty((n, d, d))
    dims = np.empty(n)
    owner = np.arange(n)
    for i in range(n):
        grams[i] = np.outer(vectors[i], vectors[i])
        dims[i] = 1.0 if np.abs(vectors[i]).max() > 0 else 0.0
    alive = n
    slots = np.arange(n)
    while alive > n_clusters:
        best = np.inf
        best_a = 0
        best_b = 1
        for _ in range(n_pairs):
            a = rng.integers(0, alive)
            b = rng.integers(0, alive - 1)
            if b >= a:
                b += 1
            merged = gram_dimension(grams[slots[a]] + grams[slots[b]], epsilon, floor)
            change = merged ** p - dims[slots[a]] ** p - dims[slots[b]] ** p
            if change < best:
                best = change
                best_a = a
                best_b = b
        keep = slots[best_a]
        gone = slots[best_b]
        grams[keep] += grams[gone]
        dims[keep] = gram_dimension(grams[keep], epsilon, floor)
        owner[owner == gone] = keep
        alive -= 1
        slots[best_b] = slots[alive]
    labels = np.empty(n, np.int64)
    for k in range(n_clusters):
        labels[owner == slots[k]] = k
    return labels
