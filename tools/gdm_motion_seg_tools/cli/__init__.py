# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commands of gdm-motion-seg that measure, render and replay."""
