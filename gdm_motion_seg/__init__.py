# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions in image streams by outlier-aware global dimension minimization."""

__version__ = '0.1.0'
