# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The methods that are compared; each is a file here and a line in ``registry.py``."""
