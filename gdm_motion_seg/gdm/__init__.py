# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Vectors in R^D to a partition: the paper's mathematics, for any D."""
