# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finished rows kept beside the JSON, so that a long run can be stopped and gone on with."""

import hashlib
import importlib.util
import json
from pathlib import Path
from types import TracebackType
from typing import IO

import cv2
import numpy as np

from gdm_motion_seg.bench.benchmark import Benchmark, Row
from gdm_motion_seg.bench.methods.base import Method

_ALWAYS = ('gdm_motion_seg.bench.metrics', 'gdm_motion_seg.bench.benchmark',
           'gdm_motion_seg.io.datasets')


class RowCache:
    """A file of JSON lines, one finished row each, keyed by everything that decides the row."""

    def __init__(self, path: Path | None) -> None:
        """Open nothing yet; without a path nothing is kept."""
        self._path = path
        self._rows: dict[str, Row] = {}
        self._file: IO[str] | None = None

    def __enter__(self) -> 'RowCache':
        """Read what is there; a last line cut short by an interruption is dropped."""
        if self._path is None:
            return self
        if self._path.exists():
            for line in self._path.read_text().splitlines():
                try:
                    entry = json.loads(line)
                    self._rows[entry['key']] = entry['row']
                except (ValueError, KeyError, TypeError):
                    continue
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open('a')
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def get(self, key: str) -> Row | None:
        """Return a finished row, if there is one."""
        return self._rows.get(key)

    def put(self, key: str, row: Row) -> None:
        """Keep a finished row, on the disk before the next one starts."""
        self._rows[key] = row
        if self._file is not None:
            self._file.write(json.dumps({'key': key, 'row': row}) + '\n')
            self._file.flush()


def fingerprint(method: Method, benchmark: Benchmark) -> str:
    """Return a digest of the code and constants that decide a row."""
    digest = hashlib.sha256(f'{np.__version__} {cv2.__version__}'.encode())
    own = (method.segment.func if hasattr(method.segment, 'func') else method.segment).__module__
    for name in sorted({*_ALWAYS, *method.sources, own, benchmark.measure.__module__,
                        benchmark.read.__module__}):
        for path in _files_of(name):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _files_of(module: str) -> list[Path]:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return []
    origin = Path(spec.origin)
    return sorted(origin.parent.rglob('*.py')) if spec.submodule_search_locations else [origin]
