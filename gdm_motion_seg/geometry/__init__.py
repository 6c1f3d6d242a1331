# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two views: correspondences, embedding, fundamental matrices, residuals."""

from gdm_motion_seg.geometry.calibrated import (
    decompose_essential, epipolar_parallax, essential_from_fundamental, fundamental_from_pose,
    parallax_angles, Pose, rays_from_pixels, recover_pose, refine_pose, triangulate)
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.embedding import embed, kronecker_embedding, linear_embedding
from gdm_motion_seg.geometry.fundamental import (
    epipoles, fit_fundamental, fit_fundamental_robust, fit_fundamental_samples, fit_fundamentals,
    refine_fundamental, sampson_distances)
from gdm_motion_seg.geometry.homography import (
    apply_homography, fit_homography, homography_distances, refine_homography,
    symmetric_transfer_distances)
from gdm_motion_seg.geometry.kind import classify_motion, KindDecision, MotionKind
from gdm_motion_seg.geometry.normalization import (
    hartley_transform, image_transform, normalize_image_points, pixel_unit)

__all__ = [
    'apply_homography', 'Camera', 'classify_motion', 'Correspondences', 'decompose_essential',
    'embed', 'epipolar_parallax', 'epipoles', 'essential_from_fundamental', 'fit_fundamental',
    'fit_fundamental_robust', 'fit_fundamental_samples', 'fit_fundamentals', 'fit_homography',
    'fundamental_from_pose', 'hartley_transform', 'homography_distances', 'image_transform',
    'KindDecision', 'kronecker_embedding', 'linear_embedding', 'MotionKind',
    'normalize_image_points', 'parallax_angles', 'pixel_unit', 'Pose', 'rays_from_pixels',
    'recover_pose', 'refine_fundamental', 'refine_homography', 'refine_pose',
    'sampson_distances', 'symmetric_transfer_distances', 'triangulate',
]
