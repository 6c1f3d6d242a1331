# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Console output of the commands: tables, progress bars, JSON."""

from collections.abc import Iterator
from contextlib import contextmanager
import json
from pathlib import Path
import sys
from typing import Any, Protocol

from rich.console import Console
from rich.progress import (BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn,
                           TimeRemainingColumn)
from rich.table import Table

from gdm_motion_seg.io.output import output_file

screen = Console()
"""Console for results."""
notes = Console(stderr=True)
"""Console for progress and remarks."""


class Advance(Protocol):
    """Callback that advances a progress bar."""

    def __call__(self, done: int) -> None:
        """Set the number of steps done so far."""


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Advance]:
    """Show a progress bar if the output is a terminal."""
    if not notes.is_terminal:
        yield lambda done: None
        return
    columns = (TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(done: int) -> None:
            bar.update(task, completed=done)

        yield advance


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Show that a task of unknown duration is running."""
    if not notes.is_terminal:
        yield
        return
    with notes.status(title):
        yield


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a title and a table; the first column is left-aligned, the others right-aligned."""
    screen.print(title, highlight=False, soft_wrap=True)
    shown = Table()
    for i, name in enumerate(columns):
        shown.add_column(name, justify='left' if i == 0 else 'right')
    for row in rows:
        shown.add_row(*row)
    screen.print(shown)


def add_json_argument(parser: Any) -> None:
    """Add ``--json FILE``."""
    parser.add_argument('--json', type=Path, metavar='FILE',
                        help='write the result as JSON; - prints it instead of the table')


def deliver(document: dict[str, Any], json_path: Path | None, overwrite: bool) -> bool:
    """Write or print the JSON if requested; returns whether the table is to be printed, too."""
    text = json.dumps(document, indent=2, allow_nan=False)
    if json_path is None:
        return True
    if str(json_path) == '-':
        sys.stdout.write(text + '\n')
        sys.stdout.flush()
        return False
    with output_file(json_path, overwrite) as file:
        file.write_text(text + '\n', encoding='utf-8')
    return True
