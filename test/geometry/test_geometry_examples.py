# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The examples in the docstrings of the geometry."""

import doctest
import importlib

import numpy as np
import pytest


@pytest.mark.parametrize('name', ['camera', 'embedding', 'fundamental'])
def test_the_examples_of_a_module_hold(name):
    module = importlib.import_module(f'gdm_motion_seg.geometry.{name}')
    result = doctest.testmod(module, extraglobs={'np': np})
    assert result.attempted and result.failed == 0
