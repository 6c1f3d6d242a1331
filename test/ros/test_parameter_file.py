# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameter file, the docs and the descriptors agree with the declaration."""

from pathlib import Path
import re

import pytest
import yaml

from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.parameter_file import BEGIN, parameter_file, user_settings, with_table
from gdm_motion_seg.ros.removed import REMOVED
from gdm_motion_seg.settings import settings_of, to_flat

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = settings_of(NodeConfig)
AGAIN = 'run: python -m gdm_motion_seg.ros.parameter_file'


def flat(tree, prefix=''):
    """Flatten nested parameters."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{name}.')
        else:
            yield prefix + name, value


def test_the_parameter_file_equals_the_declaration():
    assert (ROOT / 'config' / 'motion_seg.yaml').read_text() == parameter_file(), AGAIN


def test_the_tables_in_the_docs_equal_the_declaration():
    text = (ROOT / 'docs' / 'ros.md').read_text()
    assert with_table(text) == text, AGAIN


def test_at_most_24_parameters_are_in_the_tables_of_the_user():
    text = (ROOT / 'docs' / 'ros.md').read_text()
    tables = text[text.index(BEGIN):text.index('### Methods of the paper')]
    names = re.findall(r'^\| `([a-z_.]+)` ', tables, re.MULTILINE)
    assert len(names) <= 24
    assert sorted(names) == sorted(setting.name for setting in user_settings())


def test_no_existing_parameter_is_listed_as_removed():
    assert not REMOVED.keys() & {setting.name for setting in SETTINGS}


def test_the_parameter_file_holds_the_defaults():
    tree = yaml.safe_load(parameter_file())['/**']['motion_seg']['ros__parameters']
    assert dict(flat(tree)) == to_flat(NodeConfig())


def test_every_description_is_a_sentence():
    for setting in SETTINGS:
        assert setting.description[0].isupper() and setting.description.endswith('.'), setting.name


@pytest.mark.parametrize('setting', SETTINGS, ids=[setting.name for setting in SETTINGS])
def test_a_descriptor_has_the_facts_of_its_setting(setting):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg.ros.parameters import descriptor_of
    descriptor = descriptor_of(setting)
    assert descriptor.name == setting.name
    assert descriptor.description.startswith(setting.description)
    assert descriptor.read_only is not setting.runtime
    ranges = [*descriptor.integer_range, *descriptor.floating_point_range]
    assert [(r.from_value, r.to_value) for r in ranges] == (
        [(setting.low, setting.high)] if setting.type in (int, float) else [])
    assert all(str(choice) in descriptor.additional_constraints for choice in setting.choices)
