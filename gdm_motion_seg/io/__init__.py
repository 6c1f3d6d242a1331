# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bags, videos, image folders and data sets; what is written is whole or not there."""
