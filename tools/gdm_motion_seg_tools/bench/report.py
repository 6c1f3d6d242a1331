# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report of every measurement, as JSON, CSV and printed table."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import csv
import json
import math
from pathlib import Path
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.output import output_file

Report = dict[str, Any]
"""``{'benchmark': str, 'summary': {method: {key: number}}, 'rows': [{key: value}]}``."""

HIGHER_IS_BETTER = ('k_right', 'tpr', 'reached_truth', 'moving_', 'found_', 'near_outliers_found')
"""Prefixes of keys of which more is better; of all others less is better."""
WIDTH_WITHOUT_TERMINAL = 160


def make_report(benchmark: str, summary: Mapping[str, Mapping[str, float]],
                rows: Sequence[Mapping[str, Any]]) -> Report:
    """Return the report of a measurement."""
    return {'benchmark': benchmark, 'summary': {m: dict(s) for m, s in summary.items()},
            'rows': [dict(row) for row in rows]}


def write_json(report: Report, path: Path) -> None:
    """Write the report, or print it if the path is ``-``; NaN becomes null."""
    text = json.dumps(_without_nan(report), indent=1, allow_nan=False) + '\n'
    if str(path) == '-':
        sys.stdout.write(text)
        return
    write_text(text, path)


def write_text(text: str, path: Path) -> None:
    """Write a text file, completely or not at all."""
    with _whole_file(path) as file:
        file.write_text(text, encoding='utf-8')


def write_csv(report: Report, path: Path) -> None:
    """Write the rows with a column per key, without lists (the ROC curves)."""
    rows = report['rows']
    columns = list(dict.fromkeys(key for row in rows for key, value in row.items()
                                 if not isinstance(value, (list, dict))))
    with _whole_file(path) as name, name.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, columns, restval='', extrasaction='ignore')
        writer.writeheader()
        writer.writerows(rows)


def check_writable(path: Path) -> None:
    """Raise InputError if a file cannot be written, before the measurement."""
    if str(path) == '-':
        return
    with _whole_file(path.with_name(path.name + '.try')) as trial:
        trial.touch()
    path.with_name(path.name + '.try').unlink()
    if path.is_dir():
        raise InputError(f'cannot write {path}: it is a folder')


@contextmanager
def _whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed at the end; raises InputError on problems."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with output_file(path, overwrite=True) as file:
            yield file
    except OSError as error:
        raise InputError(f'cannot write {path}: {error.strerror}') from None


def print_table(report: Report, console: Console | None = None, headline: Sequence[str] = (),
                notes: Mapping[str, str] | None = None, ranked: Sequence[str] = ()) -> None:
    """
    Print the summary, one method per row, in as many tables as the width requires.

    The best value of each column among the ranked methods is marked.
    """
    console = console or Console(
        width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
    summary = report['summary']
    keys = list(dict.fromkeys(key for numbers in summary.values() for key in numbers
                              if not headline or key in headline))
    best = {key: _best(key, [summary[m] for m in ranked if m in summary]) for key in keys}
    longest = max((len(name) for name in summary), default=0)
    for block in _blocks(keys, console.width - longest - 6):
        table = Table(title=report['benchmark'], title_justify='left')
        table.add_column('', no_wrap=True)
        for key in block:
            table.add_column(key, justify='right', no_wrap=True)
        for name, numbers in summary.items():
            marks = best if name in ranked else {}
            table.add_row(name, *(_cell(numbers.get(key), marks.get(key)) for key in block))
        console.print(table)
    if any(value is not None for value in best.values()):
        console.print('* the best of its column', style='dim')
    for name, note in (notes or {}).items():
        if note and name in summary:
            console.print(Text(f'{name}: {note}', style='dim'))


def _blocks(keys: Sequence[str], width: int) -> Iterator[list[str]]:
    block: list[str] = []
    for key in keys:
        if block and sum(max(len(k), 7) + 3 for k in (*block, key)) > width:
            yield block
            block = []
        block.append(key)
    if block:
        yield block


def _best(key: str, ranked: Sequence[Mapping[str, float]]) -> float | None:
    values = [numbers[key] for numbers in ranked if key in numbers and math.isfinite(numbers[key])]
    if len(values) < 2:
        return None
    return max(values) if key.startswith(HIGHER_IS_BETTER) else min(values)


def _cell(value: float | None, best: float | None) -> Text:
    if value is None:
        return Text('-', style='dim')
    text = f'{value:.2f}' if abs(value) >= 0.1 else f'{value:.2g}'
    return Text('*' + text, style='bold') if best is not None and value == best else Text(text)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inside) for key, inside in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inside) for inside in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
