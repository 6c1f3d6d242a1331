# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Declaration of settings, once for all uses.

A module declares its settings as a frozen dataclass whose fields are made by :func:`setting`. ROS
parameter descriptors, the YAML in ``config/``, command-line flags and the tables in the docs are
all derived from it through :func:`settings_of`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
import math
from operator import attrgetter
from typing import Any, get_type_hints, TypeVar

from gdm_motion_seg.errors import InputError

_KEY = 'gdm_motion_seg.setting'


@dataclass(frozen=True)
class Setting:
    """One setting, with all facts for a parameter, a YAML line and a row of a table."""

    name: str
    type: type
    default: Any
    description: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[Any, ...] = ()
    unit: str = ''
    runtime: bool = True
    """Whether it may be changed while a node runs."""
    advanced: bool = False
    """Whether most users never change it."""

    @property
    def range_text(self) -> str:
        """Return the permitted values as text; empty if all are."""
        if self.choices:
            return ', '.join(repr(c) if c == '' else str(c) for c in self.choices)
        return f'{self.low:g} to {self.high:g}' if self.type in (int, float) else ''

    def check(self, value: Any) -> Any:
        """Return the value in the setting's type; raises InputError if it is not permitted."""
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        right = isinstance(value, self.type) and (self.type is bool or not isinstance(value, bool))
        if not right:
            raise InputError(f'{self.name} must be of type {self.type.__name__}, got {value!r}')
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f'{self.name} must be finite, got {value!r}')
        if self.choices and value not in self.choices:
            raise InputError(f'{self.name} must be one of {self.range_text}, got {value!r}')
        if self.type in (int, float) and not self.low <= value <= self.high:
            raise InputError(f'{self.name} must lie in {self.range_text}, got {value!r}')
        return value


def setting(default: Any, description: str, **facts: Any) -> Any:
    """Declare one setting as a dataclass field; the facts are further fields of Setting."""
    return field(default=default, metadata={_KEY: {'description': description, **facts}})


@dataclass(frozen=True)
class Config:
    """
    Base class of the settings of a module: a frozen dataclass that checks its values.

    A field may be another Config; its settings are then named ``group.name``.
    """

    def __post_init__(self) -> None:
        """Check every setting against its declaration."""
        for declared in _own_settings(type(self)):
            object.__setattr__(self, declared.name, declared.check(getattr(self, declared.name)))


ConfigT = TypeVar('ConfigT', bound=Config)


def _own_settings(cls: type) -> Iterator[Setting]:
    hints = get_type_hints(cls)
    for f in fields(cls):
        if _KEY in f.metadata:
            yield Setting(name=f.name, type=hints[f.name], default=f.default, **f.metadata[_KEY])


def settings_of(cls: type[Config], prefix: str = '') -> tuple[Setting, ...]:
    """Return all settings of a Config class and of the Configs inside it, with dotted names."""
    found = [replace(s, name=prefix + s.name) for s in _own_settings(cls)]
    hints = get_type_hints(cls)
    for f in fields(cls):
        hint = hints[f.name]
        if isinstance(hint, type) and is_dataclass(hint) and issubclass(hint, Config):
            found += settings_of(hint, f'{prefix}{f.name}.')
    return tuple(found)


def to_flat(config: Config) -> dict[str, Any]:
    """Flatten a Config into ``{'group.name': value}``."""
    return {s.name: attrgetter(s.name)(config) for s in settings_of(type(config))}


def with_flat(config: ConfigT, changes: Mapping[str, Any]) -> ConfigT:
    """Return the Config with ``{'group.name': value}`` changed; unknown names are refused."""
    known = {s.name: s for s in settings_of(type(config))}
    here: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        if name not in known:
            raise InputError(f'there is no setting called {name!r}')
        known[name].check(value)
        group, dot, rest = name.partition('.')
        if dot:
            inside.setdefault(group, {})[rest] = value
        else:
            here[name] = value
    groups = {name: with_flat(getattr(config, name), part) for name, part in inside.items()}
    return replace(config, **here, **groups)
