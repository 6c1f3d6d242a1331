# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared memory of DDS: whether it has space for images."""

import os

FOLDER = '/dev/shm'
ENOUGH = 16 * 2**20
"""Bytes: a few images. Docker gives a container 64 MiB if it is not told otherwise."""


def shared_memory_problem(folder: str = FOLDER) -> str:
    """Say that images will get lost for lack of shared memory; empty if they will not."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return ''  # another system, with another kind of shared memory
    free = space.f_bavail * space.f_frsize
    if free >= ENOUGH:
        return ''
    return (f'{folder} has only {free / 2**20:.1f} MiB free: images from this machine may get '
            'lost (docker run --shm-size=256m gives more)')
