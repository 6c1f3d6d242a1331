# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Run the command gdm-motion-seg as ``python -m gdm_motion_seg``."""

from gdm_motion_seg.cli.main import entry

if __name__ == '__main__':
    raise SystemExit(entry())
