# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of image coordinates: what the objective likes, and what linear fits need."""

import numpy as np

from gdm_motion_seg.compilation import kernel
from gdm_motion_seg.geometry.correspondences import FloatArray


REFERENCE_SIDE = 640.0
"""Longer image side at which constants in pixels were chosen; they grow with the image."""


def image_transform(image_size: tuple[int, int]) -> FloatArray:
    """
    Matrix that centres pixels on the image and divides them by half its width.

    Parameters
    ----------
    image_size : (width, height)
        In pixels.

    Returns
    -------
    (3, 3) array
        T with x_normalised = T x, for homogeneous pixels.

    Notes
    -----
    The global dimension depends on the scale of the coordinates. This one keeps the weight of the
    constant 1 in the embedding the same for every motion of an image; Hartley's, which follows
    the spread of each point set, doubled the segmentation error where it was tried.

    Examples
    --------
    >>> image_transform((640, 480)) @ [640.0, 240.0, 1.0]
    array([1., 0., 1.])

    """
    width, height = image_size
    half = 0.5 * width
    return np.array([[1.0 / half, 0.0, -1.0], [0.0, 1.0 / half, -0.5 * height / half],
                     [0.0, 0.0, 1.0]])


def normalize_image_points(points: FloatArray, image_size: tuple[int, int]) -> FloatArray:
    """
    Centre pixels on the image and divide them by half its width.

    Parameters
    ----------
    points : (..., 2) array
        Pixels.
    image_size : (width, height)
        In pixels.

    Returns
    -------
    (..., 2) array
        Coordinates without unit; the left and right edge of the image are at -1 and 1.

    """
    width, height = image_size
    return (points - np.array([0.5 * width, 0.5 * height])) / (0.5 * width)


def pixel_unit(image_size: tuple[int, int]) -> float:
    """
    Size of the image relative to the one at which constants in pixels were chosen.

    Parameters
    ----------
    image_size : (width, height)
        In pixels.

    Returns
    -------
    float
        1 for 640 x 480.

    Examples
    --------
    >>> pixel_unit((1280, 720))
    2.0

    """
    return max(image_size) / REFERENCE_SIDE


def hartley_transform(points: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """
    Matrix that moves the centroid to the origin and the mean squared radius to 2.

    Parameters
    ----------
    points : (N, 2) array
        In pixels or any other unit.
    weights : (N,) array, optional
        Non-negative; all equal by default.

    Returns
    -------
    (3, 3) array
        T with x_normalised = T x. Where all points are the same the scale is 1.

    References
    ----------
    Hartley, In defence of the eight-point algorithm, PAMI 1997.

    """
    w = np.ones(len(points)) if weights is None else np.asarray(weights, np.float64)
    total = w.sum()
    if total <= 0.0:
        return np.eye(3)
    cx, cy, scale = centre_and_scale(np.ascontiguousarray(points), w)
    return np.array([[scale, 0.0, -scale * cx], [0.0, scale, -scale * cy], [0.0, 0.0, 1.0]])


@kernel
def centre_and_scale(points: FloatArray, weights: FloatArray) -> tuple[float, float, float]:
    """Weighted centroid, and the factor that brings the mean squared radius to 2."""
    total, cx, cy = 0.0, 0.0, 0.0
    for i in range(points.shape[0]):
        total += weights[i]
        cx += weights[i] * points[i, 0]
        cy += weights[i] * points[i, 1]
    if not total > 0.0:
        return 0.0, 0.0, 1.0
    cx /= total
    cy /= total
    spread = 0.0
    for i in range(points.shape[0]):
        dx = points[i, 0] - cx
        dy = points[i, 1] - cy
        spread += weights[i] * (dx * dx + dy * dy)
    spread /= total
    # Below rounding of the coordinates there is no spread to scale by.
    if spread <= 1e-24 * (1.0 + cx * cx + cy * cy):
        return cx, cy, 1.0
    return cx, cy, np.sqrt(2.0 / spread)
