# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cache of finished rows in a file, so that a long run can be interrupted and continued."""

import ast
import hashlib
import importlib.util
import json
from pathlib import Path
from types import TracebackType
from typing import IO

import cv2
import numpy as np

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.bench.benchmark import Benchmark, Row
from gdm_motion_seg_tools.bench.methods.base import Method

_ALWAYS = ('gdm_motion_seg_tools.bench.metrics', 'gdm_motion_seg_tools.bench.benchmark',
           'gdm_motion_seg_tools.datasets')


class RowCache:
    """A file of JSON lines, one finished row each, with a digest of its code and data."""

    def __init__(self, path: Path | None) -> None:
        """Set the path; without one nothing is stored."""
        self._path = path
        self._entries: dict[str, tuple[str, Row]] = {}
        self._file: IO[str] | None = None

    def __enter__(self) -> 'RowCache':
        """Read the file; an incomplete last line is dropped."""
        if self._path is None:
            return self
        try:
            lines = self._path.read_text().splitlines() if self._path.exists() else []
            for line in lines:
                self._read(line)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            stale = len(lines) != len(self._entries)
            self._file = self._path.open('w' if stale else 'a')
        except OSError as error:
            raise InputError(f'cannot store rows in {self._path}: {error.strerror}') from None
        if stale:
            for key, (state, row) in self._entries.items():
                self._write(key, state, row)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def get(self, key: str, state: str) -> Row | None:
        """Return a finished row if its code and data are unchanged."""
        entry = self._entries.get(key)
        return entry[1] if entry and entry[0] == state else None

    def put(self, key: str, state: str, row: Row) -> None:
        """Write a finished row to the disk."""
        self._entries[key] = (state, row)
        self._write(key, state, row)

    def _write(self, key: str, state: str, row: Row) -> None:
        if self._file is not None:
            self._file.write(json.dumps({'key': key, 'state': state, 'row': row}) + '\n')
            self._file.flush()

    def _read(self, line: str) -> None:
        try:
            entry = json.loads(line)
            self._entries[entry['key']] = (entry['state'], entry['row'])
        except (ValueError, KeyError, TypeError):
            pass


def fingerprint(method: Method, benchmark: Benchmark) -> str:
    """Return a digest of the code and constants that determine a row."""
    digest = hashlib.sha256(f'{np.__version__} {cv2.__version__}'.encode())
    own = (method.segment.func if hasattr(method.segment, 'func') else method.segment).__module__
    for name in sorted({*_ALWAYS, *method.sources, own, benchmark.measure.__module__,
                        benchmark.read.__module__}):
        for path in _files_of(name):
            digest.update(meaning(path.read_text(encoding='utf-8')).encode())
    return digest.hexdigest()[:16]


def meaning(source: str) -> str:
    """Return code without comments, layout and docstrings, which do not change results."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, 'body', None)
        if isinstance(body, list):
            node.body = [part for part in body if not (  # type: ignore[attr-defined]
                isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    return ast.dump(tree)


def _files_of(module: str) -> list[Path]:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return []
    origin = Path(spec.origin)
    return sorted(origin.parent.rglob('*.py')) if spec.submodule_search_locations else [origin]
