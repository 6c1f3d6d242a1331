# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
``config/motion_seg.yaml`` from the declaration of the settings; no rclpy in here.

``python -m gdm_motion_seg.ros.parameter_file > config/motion_seg.yaml`` writes it anew.
"""

from collections.abc import Sequence
import json
from textwrap import wrap

from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import Setting, settings_of

WIDTH = 99
INDENT = '  '
_HEAD = """\
# The parameters of the node motion_seg, with their defaults.
# Those marked "read-only" are fixed when the node starts; the others can be changed while it runs.
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
    facts = [setting.unit, setting.range_text, '' if setting.runtime else 'read-only']
    text = f'{setting.description} [{"; ".join(filter(None, facts))}]'.replace(' []', '')
    start = INDENT * depth + '# '
    return wrap(text, WIDTH, initial_indent=start, subsequent_indent=start,
                break_on_hyphens=False)


if __name__ == '__main__':
    print(parameter_file(), end='')
