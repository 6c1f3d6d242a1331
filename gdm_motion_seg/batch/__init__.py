# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many recordings on a distributed engine; needs the extra ``batch``, only commands use it."""
