# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""``/diagnostics``: the status of components, with a message and values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OK, WARN, ERROR, STALE = range(4)
"""Levels of diagnostic_msgs/DiagnosticStatus."""


@dataclass(frozen=True)
class Health:
    """The status of one component."""

    name: str
    level: int
    message: str
    values: Mapping[str, str] = field(default_factory=dict)


def diagnostics_array(types: Any, header: Any, healths: Iterable[Health], hardware_id: str) -> Any:
    """Build a diagnostic_msgs/DiagnosticArray."""
    return types.DiagnosticArray(header=header, status=[
        types.DiagnosticStatus(
            level=types.byte(health.level), name=health.name, message=health.message,
            hardware_id=hardware_id,
            values=[types.KeyValue(key=key, value=value) for key, value in health.values.items()])
        for health in healths])
