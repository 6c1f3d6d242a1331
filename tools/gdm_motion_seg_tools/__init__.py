# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Benchmarks, rendered scenes, data-set readers, bag player and demo of gdm_motion_seg."""
