# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The packages as they are built and installed."""

from pathlib import Path
import subprocess
import sys
import tarfile
from xml.etree import ElementTree

import pytest

import gdm_motion_seg

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ('gdm_motion_seg', 'config', 'launch', 'docs', 'test', 'tools')


@pytest.mark.parametrize('folder', [ROOT, ROOT / 'tools'], ids=['package', 'tools'])
def test_every_place_has_the_same_version(folder):
    assert ElementTree.parse(folder / 'package.xml').findtext('version') == \
        gdm_motion_seg.__version__
    done = subprocess.run([sys.executable, 'setup.py', '--version'], cwd=folder,
                          capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == gdm_motion_seg.__version__


@pytest.mark.parametrize('folder', [ROOT, ROOT / 'tools'], ids=['package', 'tools'])
def test_the_metadata_contain_the_readme(folder):
    done = subprocess.run([sys.executable, 'setup.py', '--long-description'], cwd=folder,
                          capture_output=True, text=True, check=True)
    assert (folder / 'README.md').read_text(encoding='utf-8').strip() in done.stdout


def test_the_source_distribution_contains_tests_docs_and_all_installed_files(tmp_path):
    subprocess.run([sys.executable, 'setup.py', '-q', 'egg_info', '--egg-base', tmp_path, 'sdist',
                    '--dist-dir', tmp_path], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.glob('*.tar.gz'))) as archive:
        held = {name.partition('/')[2] for name in archive.getnames()}
    wanted = {str(path.relative_to(ROOT)) for folder in FOLDERS
              for path in (ROOT / folder).rglob('*')
              if path.is_file() and path.suffix in ('.py', '.md', '.html', '.yaml', '.xml')}
    assert 'gdm_motion_seg/view/page.html' in wanted
    assert wanted <= held
    assert {'package.xml', 'CHANGELOG.rst', 'LICENSE', 'Makefile'} <= held
