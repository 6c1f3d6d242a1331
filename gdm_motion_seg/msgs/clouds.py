# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of structured numpy arrays to PointCloud2; fields correspond to each other."""

from functools import lru_cache
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.void]

# sensor_msgs/PointField: INT8 is 1, FLOAT64 is 8.
DATATYPES = {np.dtype(name): code for code, name in enumerate(
    ('int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'float32', 'float64'), start=1)}


def header_of(types: Any, stamp: int, frame_id: str) -> Any:
    """Build a std_msgs/Header from a time in nanoseconds."""
    seconds, nanoseconds = divmod(stamp, 1_000_000_000)
    return types.Header(stamp=types.Time(sec=seconds, nanosec=nanoseconds), frame_id=frame_id)


def stamp_of(header: Any) -> int:
    """Return the time of a std_msgs/Header in nanoseconds."""
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def cloud_from_rows(types: Any, header: Any, rows: Rows) -> Any:
    """Build a sensor_msgs/PointCloud2 with one point per row."""
    dtype = rows.dtype
    return types.PointCloud2(
        header=header, height=1, width=len(rows), fields=list(_fields(types.PointField, dtype)),
        is_bigendian=sys.byteorder == 'big', point_step=dtype.itemsize,
        row_step=dtype.itemsize * len(rows),
        data=types.octets(np.ascontiguousarray(rows).view(np.uint8)), is_dense=True)


@lru_cache(maxsize=16)
def _fields(point_field: Any, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return the fields of a dtype; they are cached and shared by all messages."""
    fields = []
    for name in dtype.names or ():
        assert dtype.fields is not None
        field, offset = dtype.fields[name][:2]
        base, shape = field.subdtype or (field, (1,))
        fields.append(point_field(name=name, offset=offset, datatype=DATATYPES[base],
                                  count=int(np.prod(shape))))
    return tuple(fields)
