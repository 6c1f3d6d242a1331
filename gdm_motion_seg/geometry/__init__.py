# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two views: correspondences, embedding, fundamental matrices, homographies, rigid motions."""
