# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Point correspondences as vectors: the paper's nonlinear and linear embeddings."""

import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences, FloatArray
from gdm_motion_seg.geometry.normalization import normalize_image_points


def kronecker_embedding(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Embed correspondences into R^9, where a rigid motion is a linear subspace.

    Parameters
    ----------
    x1, x2 : (..., 2) arrays
        A point (x, y) in the first view and (x', y') in the second.

    Returns
    -------
    (..., 9) array
        v = (xx', x'y, x', xy', yy', y', x, y, 1), the paper's order.

    Notes
    -----
    v is (x', y', 1) (x) (x, y, 1), so that vec(F) . v = x2^T F x1 with F read row by row. (The
    paper writes the two factors the other way round beside the same list of products; the list
    is what its equation needs.)

    Examples
    --------
    >>> kronecker_embedding(np.array([2.0, 3.0]), np.array([5.0, 7.0])).astype(int).tolist()
    [10, 15, 5, 14, 21, 7, 2, 3, 1]

    """
    x, y = x1[..., 0], x1[..., 1]
    u, v = x2[..., 0], x2[..., 1]
    return np.stack((u * x, u * y, u, v * x, v * y, v, x, y, np.ones_like(x)), axis=-1)


def linear_embedding(x1: FloatArray, x2: FloatArray) -> FloatArray:
    """
    Embed correspondences into R^4 as (x, y, x', y').

    Parameters
    ----------
    x1, x2 : (..., 2) arrays
        Points in the first and the second view.

    Returns
    -------
    (..., 4) array
        Under an affine camera a rigid motion is an affine subspace of it.

    """
    return np.concatenate((x1, x2), axis=-1)


def embed(correspondences: Correspondences) -> FloatArray:
    """
    Kronecker embedding of image-normalised correspondences: the vectors that GDM partitions.

    Parameters
    ----------
    correspondences : Correspondences
        In pixels.

    Returns
    -------
    (N, 9) array

    """
    c = correspondences
    return kronecker_embedding(normalize_image_points(c.x1, c.image_size),
                               normalize_image_points(c.x2, c.image_size))
