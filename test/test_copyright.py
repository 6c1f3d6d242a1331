# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every source file has a copyright and a licence."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = ('# Copyright 2026 gdm_motion_seg maintainers\n'
          '# SPDX-License-Identifier: Apache-2.0\n')


def sources():
    for folder in ('gdm_motion_seg', 'tools', 'launch', 'test'):
        yield from (ROOT / folder).rglob('*.py')
    yield ROOT / 'setup.py'


def test_every_source_file_begins_with_copyright_and_licence():
    without = [str(path.relative_to(ROOT)) for path in sources()
               if not path.read_text(encoding='utf-8').startswith(HEADER)]
    assert without == []


def test_the_licence_is_the_one_that_the_package_declares():
    text = (ROOT / 'LICENSE').read_text(encoding='utf-8')
    assert 'Apache License' in text and 'Version 2.0, January 2004' in text
    assert 'END OF TERMS AND CONDITIONS' in text
    assert '<license>Apache-2.0</license>' in (ROOT / 'package.xml').read_text(encoding='utf-8')
