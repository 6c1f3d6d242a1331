# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A memory limit for commands that read untrusted files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import resource

ROOM = 4 * 2**30
"""Bytes that a command may allocate after its start; 8K video needs less than 1 GB."""


@contextmanager
def memory_bounded(room: int | None = None) -> Iterator[None]:
    """
    Let allocations beyond the limit raise MemoryError within the block.

    A compressed chunk of a bag, for instance, may expand to a thousand times its size, and the
    libraries have no limit of their own.
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
