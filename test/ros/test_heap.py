# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Large buffers go back to the system."""

import platform

import pytest

from gdm_motion_seg.ros.heap import return_large_buffers


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_glibc_takes_the_threshold():
    assert return_large_buffers()
