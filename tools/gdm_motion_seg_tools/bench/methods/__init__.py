# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The methods that are compared: one file each, and one line in ``registry.py``."""
