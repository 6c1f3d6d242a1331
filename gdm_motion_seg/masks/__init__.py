# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dense masks of what moves, made from images and the results for their tracks."""

from gdm_motion_seg.masks.masks import motion_mask, MotionMasks

__all__ = ['motion_mask', 'MotionMasks']
