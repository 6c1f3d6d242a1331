# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flags that several commands have: settings, outputs, image sizes."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gdm_motion_seg.cli import console
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.removed import REMOVED, why_removed
from gdm_motion_seg.settings import settings_of, with_flat

MAX_YAML_BYTES = 200_000
MAX_YAML_DEPTH = 20
MAX_VALUE = 200
"""Largest number of characters of a value on the command line."""


def add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--params`` and ``--set``."""
    group = parser.add_argument_group('settings', 'the same as those of the node')
    group.add_argument('--params', type=Path, metavar='FILE.yaml',
                       help='a parameter file of the node')
    group.add_argument('--set', action='append', default=[], metavar='NAME=VALUE', dest='changes',
                       help='one setting, for instance tracking.frame_gap=3; may be repeated')


def config_from(args: argparse.Namespace) -> NodeConfig:
    """Return the settings: the defaults, then the file, then ``--set``."""
    config = NodeConfig()
    if args.params is not None:
        config = with_flat(config, read_parameters(args.params))
    return with_flat(config, dict(_change(text) for text in args.changes))


def read_parameters(path: Path) -> dict[str, Any]:
    """Read a parameter file of ROS 2 as ``{'group.name': value}``; the first node in it counts."""
    with path.open('rb') as file:
        data = file.read(MAX_YAML_BYTES + 1)
    if len(data) > MAX_YAML_BYTES:
        raise InputError(
            f'{path} is not a parameter file: it has more than {MAX_YAML_BYTES} bytes')
    try:
        document = _load_yaml(data.decode('utf-8'))
    except UnicodeDecodeError:
        raise InputError(f'{path} is not a text file') from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f'{path} is not valid YAML: {" ".join(str(error).split())[:300]}'
                         ) from None
    parameters = _ros_parameters(document)
    if parameters is None:
        raise InputError(f'{path} is not a parameter file of ROS 2: it has no ros__parameters')
    known = {s.name for s in settings_of(NodeConfig)}
    flat = dict(_flatten(parameters))
    for name in [name for name in flat if name in REMOVED]:
        console.notes.print(f'{path}: {why_removed(name)}; its value is ignored', markup=False,
                            highlight=False, soft_wrap=True)
        del flat[name]
    # Every ROS node has parameters such as use_sim_time; they are not settings of the method.
    return {name: value for name, value in flat.items() if name in known or name not in _OF_ROS}


def _load_yaml(text: str) -> Any:
    """
    Read the part of YAML that ROS 2 supports: no anchors, no tags, limited depth.

    A few lines of anchors can expand to gigabytes, and a self-reference is endless. A number of
    thousands of digits or an invalid date raises ValueError.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, 'anchor', None):
            raise InputError('anchors and aliases are not supported')
        tag = getattr(event, 'tag', None)
        if tag:
            raise InputError(f'the tag {tag[:40]!r} is not supported')
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_YAML_DEPTH:
            raise InputError(f'it is nested more than {MAX_YAML_DEPTH} deep')
    return yaml.safe_load(text)


_OF_ROS = frozenset({'use_sim_time', 'start_type_description_service'})


def _ros_parameters(document: Any) -> Mapping[str, Any] | None:
    if not isinstance(document, Mapping):
        return None
    parameters = document.get('ros__parameters')
    if isinstance(parameters, Mapping):
        return parameters
    found = (_ros_parameters(part) for part in document.values())
    return next((part for part in found if part is not None), None)


def _flatten(values: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition('=')
    if not equals:
        raise InputError(f'--set needs NAME=VALUE, got {text!r}')
    if reason := why_removed(name):
        raise InputError(reason)
    kinds = {s.name: s.type for s in settings_of(NodeConfig)}
    if kinds.get(name) is str:
        return name, value
    try:
        return name, _load_yaml(value[:MAX_VALUE])
    except (yaml.YAMLError, ValueError):
        raise InputError(f'--set {name} got {value[:MAX_VALUE]!r}, which is not a value') from None


def add_output_arguments(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--out`` and ``--overwrite``."""
    parser.add_argument('--out', type=Path, metavar='DIR',
                        help=f'folder to write (default: {default})')
    add_overwrite_argument(parser)


def add_overwrite_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--overwrite``."""
    parser.add_argument('--overwrite', action='store_true',
                        help='replace the output of an earlier run')


def image_size(text: str) -> tuple[int, int]:
    """Read ``640x480``."""
    width, x, height = text.lower().partition('x')
    if not (x and width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f'{text!r} is not a size such as 640x480')
    return int(width), int(height)


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number of at least 1')
    return int(text)


def pixels(text: str) -> int:
    """Read a number of pixels from 0 to 1000."""
    if not text.isdigit() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number from 0 to 1000')
    return int(text)


def rate(text: str) -> float:
    """Read a rate between 0.1 and 1000."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.1 <= value <= 1000:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number from 0.1 to 1000')
    return value
