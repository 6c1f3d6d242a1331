# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Reader of MATLAB files (version 5 to 7) that raises an InputError for a bad file.

It reads arrays of real numbers and structs of them, which is all that the data sets need. scipy's
reader supports more, but some damaged files crash it; this one never reads beyond the data.
"""

from collections.abc import Iterator
import math
from pathlib import Path
import struct
from typing import Any, Literal
import zlib

import numpy as np

from gdm_motion_seg.errors import InputError

ByteOrder = Literal['<', '>']

HEADER = 128
"""Size of the header in bytes."""
LARGEST_VARIABLE = 2**30
"""Largest size of a compressed variable in bytes."""
# Numbers of the MAT-file format, level 5: types of elements, and classes of arrays.
_MATRIX, _COMPRESSED = 14, 15
_STRUCT = 2
_STORED = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 9: 'f8', 12: 'i8',
           13: 'u8'}
_CLASSES = {6: 'f8', 7: 'f4', 8: 'i1', 9: 'u1', 10: 'i2', 11: 'u2', 12: 'i4', 13: 'u4', 14: 'i8',
            15: 'u8'}
_COMPLEX = 0x0800


def read_mat(path: Path) -> dict[str, Any]:
    """Read the variables of a file: arrays, and structs as dictionaries; others are skipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f'there is no file {path}') from None
    try:
        return dict(_variables(memoryview(data)))
    except (ValueError, struct.error, zlib.error) as error:
        raise InputError(f'{path} cannot be read as a MATLAB file: {error}') from None


def field(path: Path, contents: Any, name: str) -> np.ndarray:
    """Return one array of a file or of a struct in it."""
    value = contents.get(name) if isinstance(contents, dict) else None
    if not isinstance(value, np.ndarray):
        raise InputError(f'{path} has no field {name!r} of numbers')
    return value


def number(path: Path, contents: Any, name: str) -> int:
    """Return one whole number of a file."""
    value = field(path, contents, name)
    if value.size != 1 or not np.isfinite(value).all():
        raise InputError(f'{path} must contain one finite number in {name!r}, got the shape '
                         f'{value.shape}')
    return int(value.item())


def _variables(data: memoryview) -> Iterator[tuple[str, Any]]:
    orders: dict[bytes, ByteOrder] = {b'\0\1IM': '<', b'\1\0MI': '>'}
    order = orders.get(bytes(data[HEADER - 4:HEADER]))
    if order is None:
        raise ValueError('it does not have the header of version 5 to 7')
    for kind, part in _elements(data[HEADER:], order):
        if kind == _COMPRESSED:
            kind, part = next(_elements(_unfolded(part), order), (0, part))
        if kind == _MATRIX:
            yield _named_array(part, order)


def _elements(data: memoryview, order: ByteOrder) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of each element."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(order + 'II', data, at)
        if kind >> 16:  # a small element: size and type share four bytes, and the content follows
            kind, size, start, after = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            start = at + 8
            after = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > min(after, len(data)):
            raise ValueError(f'an element is truncated at byte {at}')
        yield kind, data[start:start + size]
        at = after


def _unfolded(data: memoryview) -> memoryview:
    unfolder = zlib.decompressobj()
    content = unfolder.decompress(data, LARGEST_VARIABLE)
    if unfolder.unconsumed_tail:
        raise ValueError(f'a variable expands to more than {LARGEST_VARIABLE} bytes')
    return memoryview(content)


def _named_array(data: memoryview, order: ByteOrder, structs: bool = True) -> tuple[str, Any]:
    """Return name and value of an array; None if it is not of real numbers, nor a struct."""
    parts = list(_elements(data, order))
    if len(parts) < 3:
        raise ValueError('an array has no header')
    flags, shape = _integers(parts[0], order), _integers(parts[1], order)
    if not flags or not shape or min(shape) < 0:
        raise ValueError('an array has no class or no size')
    name = bytes(parts[2][1]).decode('ascii', 'replace')
    kind = flags[0] & 0xFF
    if structs and kind == _STRUCT and math.prod(shape) == 1:
        return name, _struct(parts[3:], order)
    if kind not in _CLASSES or flags[0] & _COMPLEX:
        return name, None
    if len(parts) < 4:
        raise ValueError(f'the array {name!r} has no content')
    return name, _numbers(parts[3], order).astype(_CLASSES[kind]).reshape(shape, order='F')


def _struct(parts: list[tuple[int, memoryview]], order: ByteOrder) -> dict[str, Any]:
    """Return the fields of a struct: the length of their names, the names, the values."""
    length = _integers(parts[0], order) if parts else []
    if len(parts) < 2 or len(length) != 1 or length[0] < 1:
        raise ValueError('a struct has no names of its fields')
    text = bytes(parts[1][1])
    names = [text[i:i + length[0]].split(b'\0')[0].decode('ascii', 'replace')
             for i in range(0, len(text), length[0])]
    # Nested structs are not needed; without them the depth is limited.
    values = [_named_array(part, order, structs=False)[1] if kind == _MATRIX and len(part)
              else None for kind, part in parts[2:]]
    return dict(zip(names, values))


def _integers(element: tuple[int, memoryview], order: ByteOrder) -> list[int]:
    array = _numbers(element, order)
    return [int(value) for value in array] if array.dtype.kind in 'iu' else []


def _numbers(element: tuple[int, memoryview], order: ByteOrder) -> np.ndarray:
    kind, content = element
    if kind not in _STORED:
        raise ValueError(f'numbers are stored as the unknown type {kind}')
    return np.frombuffer(content, np.dtype(_STORED[kind]).newbyteorder(order))
