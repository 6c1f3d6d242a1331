# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reading and writing of bags, videos, folders of images and tables."""
