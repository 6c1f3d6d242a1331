# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reading of PointCloud2 messages as structured numpy arrays."""

from typing import Any, Literal

import numpy as np

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.msgs.clouds import DATATYPES, Rows

_DTYPES = {code: dtype for dtype, code in DATATYPES.items()}


def rows_from_cloud(message: Any) -> Rows:
    """View a sensor_msgs/PointCloud2 as a structured array; raises InputError if it is invalid."""
    names, formats, offsets = [], [], []
    order: Literal['>', '<'] = '>' if message.is_bigendian else '<'
    for field in message.fields:
        if field.datatype not in _DTYPES:
            raise InputError(f'the field {field.name!r} has the unknown datatype {field.datatype}')
        base = _DTYPES[field.datatype].newbyteorder(order)
        names.append(field.name)
        formats.append(base if field.count <= 1 else np.dtype((base, (field.count,))))
        offsets.append(field.offset)
    count = int(message.width) * int(message.height)
    if len(message.data) < count * message.point_step:
        raise InputError(f'the cloud has {len(message.data)} bytes instead of {count} points x '
                         f'{message.point_step}')
    try:
        dtype = np.dtype({'names': names, 'formats': formats, 'offsets': offsets,
                          'itemsize': int(message.point_step)})
        return np.asarray(np.ndarray((count,), dtype, buffer=message.data))
    except (TypeError, ValueError) as error:
        raise InputError(f'the fields of the cloud contradict each other: {error}') from None
