# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmarks: methods on data sets, and measurements of the running system."""
