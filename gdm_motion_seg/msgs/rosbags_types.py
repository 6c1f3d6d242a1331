# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The message classes of rosbags, for programs that write bags without ROS."""

from functools import lru_cache
from typing import Any

import numpy as np
from rosbags.typesys import get_typestore, Stores

from gdm_motion_seg.msgs.types import MESSAGES, MessageTypes


@lru_cache(maxsize=1)
def rosbags_types() -> MessageTypes:
    """Return the message classes of rosbags."""
    store = get_typestore(Stores.ROS2_JAZZY)
    classes = {name.split('/')[1]: store.types[name.replace('/', '/msg/')] for name in MESSAGES}

    def octets(buffer: Any) -> Any:
        return np.frombuffer(buffer, np.uint8)

    return MessageTypes(classes, octets)
