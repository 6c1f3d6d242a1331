# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The order of the modules, and that every setting is declared once and shown everywhere."""

import ast
from pathlib import Path

import pytest

from gdm_motion_seg.cli.flags import read_parameters
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.parameter_file import with_table, write
from gdm_motion_seg.settings import settings_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'gdm_motion_seg'
PAGE = ROOT / 'docs' / 'ros.md'
ROW = '| `tracking.max_tracks` |'
"""A row of the table of parameters."""
MODULES = ('errors', 'arrays', 'resources', 'threads', 'heap', 'progress', 'compilation',
           'decoding', 'settings', 'gdm', 'geometry', 'tracking', 'segmentation', 'pipeline',
           'notebook', 'poses', 'masks', 'viz', 'msgs', 'warm_up', 'io', 'ros', 'view', 'batch',
           'cli')
TOOLS = ROOT / 'tools' / 'gdm_motion_seg_tools'
TOOL_MODULES = ('datasets', 'synth', 'ros', 'bench', 'cli')
ROS_MODULES = ('rclpy', 'rosgraph_msgs', 'lifecycle_msgs', 'launch', 'launch_ros')
PURE_ROS_MODULES = {'gdm_motion_seg.ros.config', 'gdm_motion_seg.ros.removed'}
"""Modules of the package ros that do not import ROS; later modules may use them."""


def modules(package=PACKAGE):
    for path in sorted(package.rglob('*.py')):
        parts = path.relative_to(package).with_suffix('').parts
        if parts not in (('__init__',), ('__main__',)):
            yield parts[0], path


def imports(path, top_level_only=False):
    tree = ast.parse(path.read_text(encoding='utf-8'))
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path} imports relatively'
            yield node.module
            # "from gdm_motion_seg.package import module" names a module too.
            yield from (f'{node.module}.{alias.name}' for alias in node.names
                        if node.module == 'gdm_motion_seg')


def test_every_module_is_in_the_list_of_modules():
    assert {module for module, _ in modules()} <= set(MODULES)


def test_a_module_uses_only_the_modules_before_it():
    wrong = []
    for module, path in modules():
        for name in imports(path):
            parts = name.split('.')
            if parts[0] != 'gdm_motion_seg' or len(parts) == 1 or parts[1] not in MODULES:
                continue
            if MODULES.index(parts[1]) > MODULES.index(module):
                wrong.append(f'{path.relative_to(ROOT)} imports {name}')
    assert wrong == []


def test_only_the_cli_imports_batch_and_only_inside_functions():
    wrong = [f'{path.relative_to(ROOT)} imports {name}' for module, path in modules()
             for name in imports(path, top_level_only=module == 'cli')
             if name.startswith('gdm_motion_seg.batch') and module != 'batch']
    assert wrong == []


def test_only_the_cli_names_the_tools_and_only_as_text():
    wrong = [f'{path.relative_to(ROOT)} imports {name}' for _, path in modules()
             for name in imports(path) if name.startswith('gdm_motion_seg_tools')]
    assert wrong == []


def test_a_tool_module_uses_only_those_before_it():
    wrong = []
    for module, path in modules(TOOLS):
        for name in imports(path):
            parts = name.split('.')
            if parts[0] == 'gdm_motion_seg_tools' and len(parts) > 1 and \
                    TOOL_MODULES.index(parts[1]) > TOOL_MODULES.index(module):
                wrong.append(f'{path.relative_to(ROOT)} imports {name}')
    assert wrong == []


def test_commands_and_benchmarks_touch_ros_only_inside_functions():
    wrong = [f'{path.relative_to(ROOT)} imports {name}'
             for module, path in (*modules(), *modules(TOOLS))
             if module in ('bench', 'cli') for name in imports(path, top_level_only=True)
             if '.ros.' in name and name not in PURE_ROS_MODULES]
    assert wrong == []


def test_only_the_modules_ros_import_rclpy():
    wrong = [f'{path.relative_to(ROOT)} imports {name}'
             for module, path in (*modules(), *modules(TOOLS))
             if module != 'ros' for name in imports(path) if name.split('.')[0] in ROS_MODULES]
    assert wrong == []


def test_the_parameter_file_lists_every_setting_with_its_default():
    expected = {s.name: s.default for s in settings_of(NodeConfig)}
    assert read_parameters(ROOT / 'config' / 'motion_seg.yaml') == expected


def test_the_table_of_parameters_is_in_the_page_of_the_node_and_nowhere_else():
    pages = [*ROOT.glob('*.md'), *(ROOT / 'docs').glob('*.md')]
    with_a_table = [page for page in pages if f'\n{ROW}' in page.read_text(encoding='utf-8')]
    assert with_a_table == [PAGE]
    text = PAGE.read_text(encoding='utf-8')
    assert with_table(text) == text, 'write it again with: python test/test_architecture.py'


@pytest.mark.parametrize('setting', settings_of(NodeConfig), ids=lambda s: s.name)
def test_every_setting_has_a_description_that_is_a_sentence(setting):
    assert setting.description.endswith('.') and len(setting.description) > 10
    assert '|' not in setting.description and '\n' not in setting.description


if __name__ == '__main__':
    write(ROOT)
