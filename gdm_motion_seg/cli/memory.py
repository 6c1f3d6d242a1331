# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bound on the memory of commands that read files of others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import resource

ROOM = 4 * 2**30
"""Bytes that a command may take beyond what it has when it starts; 8K video takes less than 1."""


@contextmanager
def memory_bounded(room: int | None = None) -> Iterator[None]:
    """
    Let requests for more memory raise MemoryError within the block.

    A compressed chunk of a bag, for instance, may unpack to a thousand times its size, and the
    libraries that do so have no limit of their own.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + (ROOM if room is None else room)
    limits = [value for value in (limit, soft, hard) if value != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Return the bytes of address space that this process uses."""
    pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[0])
    return pages * resource.getpagesize()
