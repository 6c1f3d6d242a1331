# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processing of many recordings with Dask; needs the extra ``batch``."""
