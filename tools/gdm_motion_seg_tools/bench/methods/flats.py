# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Affine subspaces (flats) of points and of growing neighbourhoods."""

from dataclasses import dataclass

import numpy as np

from gdm_motion_seg.geometry.correspondences import FloatArray, IntArray


@dataclass(frozen=True)
class Flat:
    """An affine subspace: a centre and orthonormal rows."""

    centre: FloatArray
    axes: FloatArray

    def squared_distances(self, points: FloatArray) -> FloatArray:
        """Return the squared distance of every point."""
        away = points - self.centre
        inside = away @ self.axes.T
        return np.asarray(np.maximum((away ** 2).sum(axis=1) - (inside ** 2).sum(axis=1), 0.0))


def fit_flat(points: FloatArray, dimension: int) -> Flat:
    """Fit a flat by least squares."""
    centre = points.mean(axis=0)
    axes = np.linalg.svd(points - centre, full_matrices=False)[2][:dimension]
    return Flat(centre, axes)


def nearest_neighbours(points: FloatArray, seeds: IntArray, count: int,
                       ) -> tuple[IntArray, FloatArray]:
    """Return the nearest points of each seed, itself first, and their distances."""
    squares = (points ** 2).sum(axis=1)
    gaps = squares[seeds, None] + squares[None] - 2.0 * points[seeds] @ points.T
    gaps[np.arange(len(seeds)), seeds] = -1.0
    order = np.argsort(gaps, axis=1, kind='stable')[:, :count]
    distances = np.sqrt(np.maximum(np.take_along_axis(gaps, order, axis=1), 0.0))
    return order, distances


def spectra_by_scale(points: FloatArray, order: IntArray, sizes: IntArray) -> FloatArray:
    """
    Return the variances along the principal axes of growing neighbourhoods, largest first.

    Row (s, k) of the (S, scales, D) result belongs to the first ``sizes[k]`` points of
    ``order[s]``, about their own mean.
    """
    # Relative to the seed, so that the subtraction of the mean is accurate.
    local = points[order] - points[order[:, :1]]
    at = sizes - 1
    sums = np.cumsum(local, axis=1)[:, at] / sizes[:, None]
    products = np.cumsum(local[..., :, None] * local[..., None, :], axis=1)[:, at]
    covariances = products / sizes[:, None, None] - sums[..., :, None] * sums[..., None, :]
    return np.asarray(np.maximum(np.linalg.eigvalsh(covariances)[..., ::-1], 0.0))
