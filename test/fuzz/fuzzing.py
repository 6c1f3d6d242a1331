# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Generation of inputs: a few in every test run, many with ``make fuzz``."""

from collections.abc import Sequence
import os

from hypothesis import HealthCheck, settings, strategies as st

TOTAL = int(os.environ.get('GDM_MOTION_SEG_FUZZ_INPUTS', '1500'))
"""Inputs of all fuzz tests together."""
LONG = 'GDM_MOTION_SEG_FUZZ_INPUTS' in os.environ


def fuzz(share: float) -> settings:
    """Try a share of all inputs, in percent; the same ones every time unless the run is long."""
    return settings(max_examples=max(10, round(TOTAL * share / 100)), deadline=None, database=None,
                    derandomize=not LONG, suppress_health_check=list(HealthCheck))


EDIT = st.tuples(st.integers(0, 2**31), st.integers(0, 255),
                 st.sampled_from(('set', 'set', 'set', 'flip', 'insert', 'delete', 'cut', 'big')))
EDITS = st.lists(EDIT, min_size=1, max_size=8)
"""A few changes to a file."""


def edited(original: bytes, edits: Sequence[tuple[int, int, str]]) -> bytes:
    """Return bytes with changes at some places."""
    data = bytearray(original)
    for place, value, kind in edits:
        at = place % (len(data) + 1)
        if kind == 'insert':
            data[at:at] = bytes([value]) * (value % 17)
        elif kind == 'delete':
            del data[at:at + value]
        elif kind == 'cut' and value < 64:
            del data[at:]
        elif kind == 'big':
            data[at:at + 4] = b'\xff\xff\xff\x7f'[:len(data) - at]
        elif at < len(data):
            data[at] = value if kind == 'set' else data[at] ^ (1 << value % 8)
    return bytes(data)
