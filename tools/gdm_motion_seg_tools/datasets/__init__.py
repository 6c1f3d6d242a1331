# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Data sets with known motions: one file each, read from a folder that the user names."""
