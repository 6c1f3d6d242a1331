# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The packages as they are built and installed."""

from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import gdm_motion_seg

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize('folder', [ROOT, ROOT / 'tools'], ids=['package', 'tools'])
def test_every_place_has_the_same_version(folder):
    assert ElementTree.parse(folder / 'package.xml').findtext('version') == \
        gdm_motion_seg.__version__
    done = subprocess.run([sys.executable, 'setup.py', '--version'], cwd=folder,
                          capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == gdm_motion_seg.__version__


@pytest.mark.parametrize('folder', [ROOT, ROOT / 'tools'], ids=['package', 'tools'])
def test_the_metadata_hold_the_readme(folder):
    done = subprocess.run([sys.executable, 'setup.py', '--long-description'], cwd=folder,
                          capture_output=True, text=True, check=True)
    assert (folder / 'README.md').read_text(encoding='utf-8').strip() in done.stdout
