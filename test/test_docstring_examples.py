# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every example in a docstring gives what it shows."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def modules_with_examples():
    for folder in (ROOT, ROOT / 'tools'):
        for path in sorted(folder.glob('gdm_motion_seg*/**/*.py')):
            if '>>> ' in path.read_text(encoding='utf-8'):
                parts = path.relative_to(folder).with_suffix('').parts
                yield '.'.join(parts).removesuffix('.__init__')


@pytest.mark.parametrize('name', list(modules_with_examples()))
def test_the_examples_of_a_module_work(name):
    result = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0 and result.failed == 0
