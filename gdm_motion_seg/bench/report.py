# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The one shape of every measurement: JSON, CSV, and a table on the screen."""

from collections.abc import Mapping, Sequence
import csv
import json
import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gdm_motion_seg.errors import InputError

Report = dict[str, Any]
"""``{'benchmark': str, 'summary': {method: {key: number}}, 'rows': [...]}``."""

HIGHER_IS_BETTER = ('k_right', 'tpr', 'reached_truth', 'moving_', 'fps', 'rate')
NEITHER = ('fpr_used',)


def make_report(benchmark: str, summary: Mapping[str, Mapping[str, float]],
                rows: Sequence[Mapping[str, Any]]) -> Report:
    """Put a measurement into its shape."""
    return {'benchmark': benchmark, 'summary': {m: dict(s) for m, s in summary.items()},
            'rows': [dict(row) for row in rows]}


def write_json(report: Report, path: Path) -> None:
    """Write the report; NaN, which JSON does not know, becomes null."""
    text = json.dumps(_without_nan(report), indent=1) + '\n'
    _write(path, text)


def write_csv(report: Report, path: Path) -> None:
    """Write the rows, one column for every key that occurs."""
    rows = report['rows']
    columns = list(dict.fromkeys(key for row in rows for key in row))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open('w', newline='') as file:
            writer = csv.DictWriter(file, columns, restval='')
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from None


def print_table(report: Report, console: Console, notes: Mapping[str, str] | None = None,
                unranked: Sequence[str] = ()) -> None:
    """Print the summary, a method a row; the best of each column is marked, whoever it is."""
    summary = report['summary']
    keys = list(dict.fromkeys(key for numbers in summary.values() for key in numbers))
    table = Table(title=report['benchmark'])
    table.add_column('method', no_wrap=True)
    for key in keys:
        table.add_column(key, justify='right')
    best = {key: _best(key, {m: s for m, s in summary.items() if m not in unranked}) for key in keys}
    for method, numbers in summary.items():
        cells = [_cell(numbers.get(key), method not in unranked and numbers.get(key) == best[key]
                       and len(summary) > 1) for key in keys]
        table.add_row(method, *cells)
    console.print(table)
    if len(summary) > 1:
        console.print('* best of its column', style='dim')
    for method, note in (notes or {}).items():
        if note and method in summary:
            console.print(Text(f'{method}: {note}', style='dim'))


def _best(key: str, summary: Mapping[str, Mapping[str, float]]) -> float | None:
    values = [s[key] for s in summary.values() if key in s and math.isfinite(s[key])]
    if not values:
        return None
    return max(values) if key.startswith(HIGHER_IS_BETTER) else min(values)


def _cell(value: float | None, best: bool) -> Text:
    if value is None:
        return Text('-', style='dim')
    text = f'{value:.3g}' if abs(value) < 0.1 else f'{value:.2f}'
    return Text('*' + text, style='bold') if best else Text(text)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inside) for key, inside in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inside) for inside in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from None
