# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The parameter file and the tables in the docs, from the declaration of the settings.

``python -m gdm_motion_seg.ros.parameter_file`` writes both into the current checkout.
"""

from collections.abc import Sequence
import json
from pathlib import Path
from textwrap import wrap

from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import Setting, settings_of

WIDTH = 99
INDENT = '  '
BEGIN, END = '<!-- parameters: begin -->', '<!-- parameters: end -->'
"""Marks around the tables in the docs."""
PAPER = 'segmentation.gdm.'
"""Settings of the methods of the paper."""
_HEAD = """\
# The parameters of the node motion_seg, with their defaults.
# Those marked "read-only" are fixed when the node starts; the others can be changed while it runs.
# Most users never change those marked "advanced", nor those under segmentation/gdm.
# Made from the declaration of the settings by: python -m gdm_motion_seg.ros.parameter_file
/**:
  motion_seg:
    ros__parameters:
"""


def parameter_file() -> str:
    """Return the text of the parameter file."""
    return _HEAD + '\n'.join(_lines(settings_of(NodeConfig), depth=3)) + '\n'


def _lines(settings: Sequence[Setting], depth: int, group: str = '') -> list[str]:
    """Write the settings of a group, then those of the groups inside it."""
    lines: list[str] = []
    own = [s for s in settings if '.' not in s.name.removeprefix(group)]
    for setting in own:
        lines += _comment(setting, depth)
        lines.append(f'{INDENT * depth}{setting.name.removeprefix(group)}: '
                     f'{json.dumps(setting.default)}')
    inner = dict.fromkeys(s.name.removeprefix(group).partition('.')[0] for s in settings
                          if s not in own)
    for name in inner:
        prefix = f'{group}{name}.'
        lines.append(f'{INDENT * depth}{name}:')
        lines += _lines([s for s in settings if s.name.startswith(prefix)], depth + 1, prefix)
    return lines


def _comment(setting: Setting, depth: int) -> list[str]:
    facts = [setting.unit, setting.range_text, '' if setting.runtime else 'read-only',
             'advanced' if setting.advanced else '']
    text = f'{setting.description} [{"; ".join(filter(None, facts))}]'.replace(' []', '')
    start = INDENT * depth + '# '
    return wrap(text, WIDTH, initial_indent=start, subsequent_indent=start,
                break_on_hyphens=False)


def user_settings() -> list[Setting]:
    """Return the settings of the user's tables: all but those of the paper's methods."""
    return [s for s in settings_of(NodeConfig) if not s.name.startswith(PAPER)]


def parameter_tables() -> str:
    """Return the tables of the parameters in Markdown: basic, advanced, the paper's methods."""
    user = user_settings()
    paper = [s for s in settings_of(NodeConfig) if s not in user]
    return '\n'.join((
        '### Basic\n', _table([s for s in user if not s.advanced]),
        '### Advanced\n', _table([s for s in user if s.advanced]),
        '### Methods of the paper\n',
        'These are for the methods `gdm-paper`, `gdm-naive`, `gdm-known-fraction` and '
        '`gdm-model-reassign`. They change no answer of the default method.\n', _table(paper)))


def _table(settings: Sequence[Setting]) -> str:
    lines = ['| parameter | default | range | at run time | what |', '|---|---|---|---|---|']
    for setting in settings:
        unit = f' {setting.unit}' if setting.unit else ''
        lines.append(f'| `{setting.name}` | `{json.dumps(setting.default)}`{unit} | '
                     f'{setting.range_text} | {"yes" if setting.runtime else "no"} | '
                     f'{setting.description} |')
    return '\n'.join(lines) + '\n'


def with_table(text: str) -> str:
    """Return a document with the tables between their two marks replaced."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + '\n' + parameter_tables() + END + rest.split(END)[1]


def write(checkout: Path) -> None:
    """Write the parameter file and the tables of a checkout."""
    (checkout / 'config' / 'motion_seg.yaml').write_text(parameter_file(), encoding='utf-8')
    docs = checkout / 'docs' / 'ros.md'
    docs.write_text(with_table(docs.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    write(Path.cwd())
