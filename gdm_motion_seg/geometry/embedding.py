# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Point correspondences as vectors: the paper's embedding, and the coordinates it is made in."""

import numpy as np

from gdm_motion_seg.arrays import FloatArray
from gdm_motion_seg.geometry.correspondences import Correspondences

REFERENCE_SIDE = 640.0
"""Longer image side at which constants in pixels were chosen; they grow with the image."""


def kronecker_embedding(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Embed correspondences into R^9, where a rigid motion is a linear subspace.

    Of (x, y) in the first view and (x', y') in the second, (..., 2) arrays, it is the Kronecker
    product (x', y', 1) (x) (x, y, 1) = (xx', x'y, x', xy', yy', y', x, y, 1), in the paper's
    order. So vec(F) . v = x2^T F x1 with F read row by row. (The paper writes the two factors the
    other way round beside the same list of products; the list is what its equation needs.)

    >>> kronecker_embedding(np.array([2.0, 3.0]), np.array([5.0, 7.0])).astype(int).tolist()
    [10, 15, 5, 14, 21, 7, 2, 3, 1]
    """
    x, y = x1[..., 0], x1[..., 1]
    u, v = x2[..., 0], x2[..., 1]
    return np.stack((u * x, u * y, u, v * x, v * y, v, x, y, np.ones_like(x)), axis=-1)


def embed(correspondences: Correspondences) -> FloatArray:
    """Return the embedding (N, 9) of image-normalised points: the vectors that GDM partitions."""
    c = correspondences
    return kronecker_embedding(normalize_image_points(c.x1, c.image_size),
                               normalize_image_points(c.x2, c.image_size))


def places(correspondences: Correspondences) -> FloatArray:
    """
    Return the embedding (6, N) of the newer positions with themselves.

    It is x' (x) x' of image-normalised points without the repeated products, whose weight stays:
    what the places of the points alone contribute to the dimension of their embedding.
    """
    x, y = normalize_image_points(correspondences.x2, correspondences.image_size).T
    root = np.sqrt(2.0)
    return np.stack([np.ones_like(x), root * x, root * y, x * x, root * x * y, y * y])


def normalize_image_points(points: FloatArray, image_size: tuple[int, int]) -> FloatArray:
    """
    Centre pixels (..., 2) on the image and divide them by half its width.

    The global dimension depends on the scale of the coordinates. This one keeps the weight of the
    constant 1 in the embedding the same for every motion of an image; Hartley's, which follows
    the spread of each point set, doubled the segmentation error where it was tried.
    """
    width, height = image_size
    return np.asarray((points - np.array([0.5 * width, 0.5 * height])) / (0.5 * width))


def pixel_unit(image_size: tuple[int, int]) -> float:
    """
    Return the size of the image relative to the one at which constants in pixels were chosen.

    >>> pixel_unit((1280, 720))
    2.0
    """
    return max(image_size) / REFERENCE_SIDE
