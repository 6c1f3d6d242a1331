# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds the moments in the data set of a batch at which a body matches a condition."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
import operator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import compute, dataset

from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tables import MOTIONS
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.segmentation.result import WORLD

PARTITION = pa.schema([('recording', pa.string())])
COLUMNS = (*MOTIONS.names, *PARTITION.names)
"""The columns that a condition may use."""
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv}
_TEXT = ('kind', 'recording')


@dataclass(frozen=True)
class Moment:
    """A time span in which one body matched a condition."""

    recording: str
    body: int
    start: float
    """Seconds since the recording began."""
    stop: float
    stamp: int
    """Time of the first frame in nanoseconds."""
    frames: int
    count: int
    """Largest number of its keypoints."""
    moving: float
    """Mean probability that it moves."""


def find_moments(folder: str, text: str, join: float) -> list[Moment]:
    """
    Return the moments at which a body matches a condition, by recording and time.

    Parameters
    ----------
    folder :
        Output folder of ``batch``.
    text :
        Condition on the columns of the table of motions, ``moving > 0.8 and count > 20``.
    join :
        Frames of a body that are at most this many seconds apart are one moment.

    """
    condition = parse_condition(text)
    store = Store(folder)
    if not store.exists('motions'):
        raise InputError(f'{folder} contains no results of "batch"')
    data = dataset.dataset(store.path('motions'), filesystem=None if store.is_local else store.fs,
                           schema=pa.schema([*MOTIONS, *PARTITION]),
                           partitioning=dataset.partitioning(PARTITION, flavor='hive'))
    columns = ['recording', 'id', 'time', 'stamp', 'count', 'moving']
    try:
        table = data.to_table(columns=columns, filter=(compute.field('id') > WORLD) & condition)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f'{text!r} cannot be evaluated: {reason}') from None
    return _moments(table.sort_by([(name, 'ascending') for name in columns[:3]]), join)


def parse_condition(text: str) -> compute.Expression:
    """Parse a condition: comparisons of columns and numbers with and, or, not and brackets."""
    try:
        tree = ast.parse(text.strip(), mode='eval').body
    except (SyntaxError, ValueError):
        raise InputError(f'{text!r} is not a condition such as "moving > 0.8 and count > 20"'
                         ) from None
    if not isinstance(tree, (ast.BoolOp, ast.Compare, ast.UnaryOp)):
        raise InputError(f'{text!r} compares nothing; write for instance "moving > 0.8"')
    return _truth(tree, text)


def _truth(node: ast.expr, text: str) -> compute.Expression:
    """Return the expression of a condition."""
    if isinstance(node, ast.BoolOp):
        join = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        total = _truth(node.values[0], text)
        for value in node.values[1:]:
            total = join(total, _truth(value, text))
        return total
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_truth(node.operand, text)
    if isinstance(node, ast.Compare):
        total = None
        for left, kind, right in zip((node.left, *node.comparators), node.ops, node.comparators):
            if type(kind) not in _COMPARISONS:
                raise InputError(f'{text!r}: {ast.unparse(node)} is not supported; compare with '
                                 '<, <=, >, >=, == or !=')
            one = _COMPARISONS[type(kind)](_value(left, text), _value(right, text))
            total = one if total is None else total & one
        return total
    raise InputError(f'{text!r}: {ast.unparse(node)} is neither true nor false')


def _value(node: ast.expr, text: str) -> compute.Expression:
    """Return the expression of a number or a string."""
    if isinstance(node, ast.Name):
        if node.id not in COLUMNS:
            raise InputError(f'{text!r}: there is no column {node.id!r}; there are '
                             f'{", ".join(COLUMNS)}')
        field = compute.field(node.id)
        # Integers and floats may be mixed: convert all to one type.
        return field if node.id in _TEXT else field.cast(pa.float64())
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return compute.scalar(float(node.value))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return compute.scalar(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return compute.scalar(0.0) - _value(node.operand, text)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_value(node.left, text), _value(node.right, text))
    raise InputError(f'{text!r}: {ast.unparse(node)} is not a number, a string or a column')


def _moments(table: pa.Table, join: float) -> list[Moment]:
    """Join successive frames of a body."""
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    if not table.num_rows:
        return []
    other = (columns['recording'][1:] != columns['recording'][:-1]) | (
        columns['id'][1:] != columns['id'][:-1])
    breaks = np.flatnonzero(other | (np.diff(columns['time']) > join)) + 1
    moments = [_moment(columns, group)
               for group in np.split(np.arange(table.num_rows), breaks)]
    return sorted(moments, key=lambda m: (m.recording, m.start, m.body))


def _moment(columns: dict[str, Any], rows: npt.NDArray[np.intp]) -> Moment:
    first, last = rows[0], rows[-1]
    return Moment(str(columns['recording'][first]), int(columns['id'][first]),
                  float(columns['time'][first]), float(columns['time'][last]),
                  int(columns['stamp'][first]), len(rows), int(columns['count'][rows].max()),
                  float(columns['moving'][rows].mean()))
